"""Translation models behind HTTP: an API that existing clients understand, and pages that show why."""
