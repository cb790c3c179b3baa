"""The steward's private report: what was published, what it gives away and what was lost."""

from sfumato.report.report import render_report, write_report

__all__ = ["render_report", "write_report"]
