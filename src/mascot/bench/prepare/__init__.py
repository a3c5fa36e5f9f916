"""Making the published datasets from where their authors keep them: `mascot bench prepare`."""
