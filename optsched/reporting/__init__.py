"""Reports of many gaps: one page of HTML, tables for LaTeX and Markdown, and CSV.

Sources go through one reader (`reading`, `records`), become runs (`entries`), and these the parts of a report
(`tables`, `comparing`, `building`), which is written in several forms (`page`, `documents`, `tidy`).
"""

from __future__ import annotations

from optsched.reporting.writing import write_report

__all__ = ["write_report"]
