"""The starter's base vision-language model and its planner, trained from nothing on pocketworld."""
