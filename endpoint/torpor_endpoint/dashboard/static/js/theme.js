// Sets the theme before the first paint, so it is a plain script in the head. The choice is kept in this browser.
"use strict";
(() => {
  const KEY = "torpor-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      return localStorage.getItem(KEY) ?? "auto";
    } catch {
      return "auto"; // storage is blocked: the choice lasts as long as the page
    }
  }

  function apply(choice) {
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    root.dataset.theme = dark ? "dark" : "light";
    document.dispatchEvent(new Event("themechange"));
  }

  apply(chosen());
  system.addEventListener("change", () => apply(chosen()));
  addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = chosen();
    select.addEventListener("change", () => {
      try {
        localStorage.setItem(KEY, select.value);
      } catch {
        // As above.
      }
      apply(select.value);
    });
  });
})();
