"""The steward's private report: what was published, what it gives away and what was lost."""

from sfumato.report.report import prepare_report, render_report, write_report

__all__ = ["prepare_report", "render_report", "write_report"]
