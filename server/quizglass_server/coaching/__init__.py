"""What is wrong with a frame as the camera took it: `statistics` are numbers of its pixels, `coach` judges them."""
