"""What the stages learn from: questions, pictures, prompts and answers of pocketworld."""
