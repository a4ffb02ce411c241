"""Engines: each evaluates a plan over ordered events and gives matches. They see no text."""
