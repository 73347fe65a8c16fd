"""The process of one router: it answers the runtime API, follows the control, and owns no instance."""
