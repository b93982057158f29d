// Light or dark: as the system says, until someone says otherwise.

const dark = matchMedia("(prefers-color-scheme: dark)");
const KEY = "arcvec-theme";
let styles = null;

/** The value of a CSS variable of the current theme. */
export function style(name) {
  styles ??= getComputedStyle(document.documentElement);
  return styles.getPropertyValue(name);
}

export function setUpTheme(changed) {
  const apply = () => {
    const chosen = localStorage.getItem(KEY) ?? (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = chosen;
    changed();
  };
  dark.addEventListener("change", apply);
  document.getElementById("theme").addEventListener("click", () => {
    localStorage.setItem(KEY, document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  apply();
}
