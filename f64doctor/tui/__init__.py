"""The wizard: a Textual front end that shows the news of a checkup and its report, and judges nothing."""
