"""Damaged, odd and hostile files given to `quizglass knowledge import`: what is lost without a word, crashes, costs."""
