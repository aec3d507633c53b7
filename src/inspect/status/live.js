// Keeps /status up to date: fetches the same page again and replaces the parts that changed. The server has rendered and escaped
// everything, so this script never makes markup from data.

(() => {
  const everyMs = 5000;
  const atMostMs = 60_000;
  const byId = (id) => document.getElementById(id);
  const [fresh, pause, summary, form] = ["fresh", "pause", "summary", "filter"].map(byId);
  let delay = everyMs;
  let timer;
  let running;

  /** A selection inside would be lost; the part is replaced later. */
  const isSelected = (part) => {
    const selection = getSelection();
    return selection !== null && !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  const replace = (next) => {
    for (const part of next.querySelectorAll("[data-live]")) {
      const shown = byId(part.id);
      if (shown === null || shown.innerHTML === part.innerHTML || isSelected(shown)) continue;
      const focused = shown.contains(document.activeElement) ? document.activeElement.id : "";
      shown.replaceWith(document.adoptNode(part));
      if (focused !== "") byId(focused)?.focus({ preventScroll: true });
    }
    document.title = next.title;
    // A screen reader announces this element, so it changes only when its text does.
    const text = next.getElementById("summary").textContent;
    if (summary.textContent !== text) summary.textContent = text;
    fresh.replaceChildren(...document.adoptNode(next.getElementById("fresh")).childNodes);
    document.body.classList.remove("stale");
  };

  const fetchPage = async () => {
    const response = await fetch(location.pathname + location.search, {
      cache: "no-store",
      redirect: "error",
      headers: { accept: "text/html" },
      signal: running.signal,
    });
    if (!response.ok) throw new Error(`the server answers with ${response.status}`);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };

  const schedule = () => {
    clearTimeout(timer);
    const isPaused = pause.getAttribute("aria-pressed") === "true";
    if (!isPaused && !document.hidden) timer = setTimeout(update, delay);
  };

  async function update() {
    clearTimeout(timer);
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    try {
      replace(await fetchPage());
      delay = everyMs;
    } catch (error) {
      if (signal.aborted) return;
      delay = Math.min(atMostMs, delay * 2);
      document.body.classList.add("stale");
      summary.textContent = `This page is not up to date: ${error.message}. Next attempt in ${delay / 1000} seconds.`;
    }
    schedule();
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    const isPaused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", String(isPaused));
    if (isPaused) schedule();
    else void update();
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? schedule() : void update()));

  let typing;
  const applyFilter = () => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    history.replaceState(null, "", `${location.pathname}?${query}`);
    void update();
  };
  form.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(applyFilter, 250);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    applyFilter();
  });
  schedule();
})();
