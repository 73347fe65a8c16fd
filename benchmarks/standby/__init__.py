"""What a standby takes over, and what is lost, while the control before it is killed, frozen or cut off."""
