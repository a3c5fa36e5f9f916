"""`mascot bench prepare`: download the published datasets from their sources."""
