"""Mails that bring teachers their pages or workbooks."""
