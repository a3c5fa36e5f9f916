"""What a photograph says about itself: times, places, cameras, words."""
