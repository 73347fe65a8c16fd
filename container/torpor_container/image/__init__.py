"""What the container takes from the AWS image that it stands for: its name, its variables, its command."""
