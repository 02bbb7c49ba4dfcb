// The header of every page: the language of the pages, which is remembered for a year.
import { find } from "./elements.js";

find("#interface-language").addEventListener("change", (event) => {
  document.cookie = `clearhead_language=${event.target.value}; path=/; max-age=31536000; samesite=lax`;
  location.reload();
});
