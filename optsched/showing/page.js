"use strict";
// Sorts and filters the tables of a report. Without it they are tables all the same.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);

  // What a cell is sorted by: a number, a text, or nothing known (null), which comes last either way.
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.value;
    if (number === undefined) return cell.textContent.trim().toLowerCase() || null;
    return number === "" ? null : Number(number);
  };

  const sort = (column, direction) => {
    const keyed = rows.map((row, place) => [value(row, column), place, row]);
    keyed.sort(([a, first], [b, second]) => {
      if (a === null || b === null) return a === b ? first - second : a === null ? 1 : -1;
      const order = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return direction * order || first - second;
    });
    body.append(...keyed.map(([, , row]) => row));
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      sort(column, direction);
    });
  });

  if ("filtered" in table.dataset) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const status = document.createElement("span");
    label.className = "filter";
    input.type = "search";
    status.setAttribute("role", "status");
    label.append("Rows with ", input, " ", status);
    table.parentElement.before(label);
    input.setAttribute("aria-label", `Rows with this text: ${table.caption.textContent}`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      status.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
  }
}
