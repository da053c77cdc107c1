"""Reports of many gaps: one page of HTML, tables for LaTeX and Markdown, and CSV.

Sources go through one reader (`reading`), become runs (`entries`), and these the parts of a report (`tables`,
`comparing`, `building`), which is written in several forms (`page`, `documents`).
"""

from __future__ import annotations

from optsched.reporting.building import write_report

__all__ = ["write_report"]
