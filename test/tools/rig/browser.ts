// A headless Chromium, driven over its DevTools protocol. A page records what it logs, what the Content-Security-Policy blocks, and
// which requests it sends.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KeptProcess, keepFolder, startProcess } from "../../cluster/rig/kept-process.ts";
import { until } from "../../cluster/rig/until.ts";

type Params = Readonly<Record<string, unknown>>;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly message: string };
}

export interface PageOptions {
  readonly width: number;
  readonly height: number;
  readonly scheme?: "light" | "dark";
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly hasScript?: boolean;
}

/** A node as a screen reader gets it: role and name, in the order of the page. */
export interface AccessibleNode {
  readonly role: string;
  readonly name: string;
}

export class BrowserPage {
  readonly requests: string[] = [];
  /** Messages of the console, uncaught errors, and violations of the policy. */
  readonly complaints: string[] = [];
  readonly #send: (method: string, params?: Params) => Promise<Params>;

  constructor(send: (method: string, params?: Params) => Promise<Params>) {
    this.#send = send;
  }

  /** Handles an event of the protocol. */
  note(method: string, params: Params): void {
    if (method === "Network.requestWillBeSent")
      this.requests.push((params["request"] as { readonly url: string }).url);
    if (
      ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Audits.issueAdded"].includes(
        method,
      )
    )
      this.complaints.push(JSON.stringify(params));
  }

  async prepare({
    width,
    height,
    scheme = "light",
    headers = {},
    hasScript = true,
  }: PageOptions): Promise<void> {
    for (const domain of ["Page", "Runtime", "Log", "Network", "Audits", "Accessibility"])
      await this.#send(`${domain}.enable`);
    await this.#send("Network.setExtraHTTPHeaders", { headers });
    await this.#send("Emulation.setScriptExecutionDisabled", { value: !hasScript });
    await this.#send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    await this.#send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
  }

  /** Makes the timers of the next documents run faster by this factor. */
  async hurry(factor: number): Promise<void> {
    const source = `{ const later = setTimeout; window.setTimeout = (call, ms) => later(call, ms / ${factor}); }`;
    await this.#send("Page.addScriptToEvaluateOnNewDocument", { source });
  }

  async open(url: string): Promise<void> {
    const result = await this.#send("Page.navigate", { url });
    if (result["errorText"] !== undefined) throw new Error(`${url}: ${result["errorText"]}`);
    await until("the page to load", async () => (await this.run("document.readyState")) === "complete", {
      seconds: 180,
    });
  }

  /** Evaluates an expression in the page, even if the scripts of the page are disabled. */
  async run(expression: string): Promise<unknown> {
    const answer = await this.#send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    const failure = answer["exceptionDetails"];
    if (failure !== undefined) throw new Error(JSON.stringify(failure));
    return (answer["result"] as { readonly value?: unknown }).value;
  }

  text(selector: string): Promise<unknown> {
    return this.run(`document.querySelector(${JSON.stringify(selector)})?.innerText`);
  }

  async press(key: "Tab" | "Enter" | " "): Promise<void> {
    const code = { Tab: 9, Enter: 13, " ": 32 }[key];
    const common = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: code };
    const text = { Tab: undefined, Enter: "\r", " ": " " }[key];
    await this.#send("Input.dispatchKeyEvent", {
      type: "keyDown",
      ...common,
      ...(text !== undefined && { text }),
    });
    await this.#send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
  }

  type(text: string): Promise<Params> {
    return this.#send("Input.insertText", { text });
  }

  async accessible(): Promise<readonly AccessibleNode[]> {
    const { nodes } = await this.#send("Accessibility.getFullAXTree");
    return (nodes as readonly { ignored: boolean; role?: { value: string }; name?: { value: string } }[])
      .filter(({ ignored }) => !ignored)
      .map(({ role, name }) => ({ role: role?.value ?? "", name: name?.value ?? "" }));
  }

  /** A PNG file of the visible part, or of the whole page. */
  async screenshot(path: string, isWhole = false): Promise<void> {
    const { data } = await this.#send("Page.captureScreenshot", { captureBeyondViewport: isWhole });
    await Bun.write(path, Buffer.from(String(data), "base64"));
  }
}

export class Browser {
  /** Host and port of its DevTools. */
  readonly address: string;
  readonly #process: KeptProcess;
  readonly #folder: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #pages = new Map<string, BrowserPage>();
  #last = 0;

  private constructor(process: KeptProcess, folder: string, socket: WebSocket) {
    this.#process = process;
    this.#folder = folder;
    this.#socket = socket;
    this.address = new URL(socket.url).host;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data)) as Message));
  }

  static async start(command: string): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-browser-"));
    keepFolder(folder);
    const process = startProcess(
      [
        command,
        "--headless=new",
        "--remote-debugging-port=0",
        `--user-data-dir=${folder}`,
        // The tests run as root in a container, and the certificate of the port is self-signed.
        ...["--no-sandbox", "--ignore-certificate-errors", "--disable-dev-shm-usage", "--disable-gpu"],
        ...[
          "--no-first-run",
          "--disable-background-networking",
          "--disable-component-update",
          "--no-proxy-server",
        ],
        "about:blank",
      ],
      { cwd: folder },
    );
    const url = await until(
      "the browser",
      () => {
        if (process.exitCode() !== null) throw new Error(`It exited with ${process.exitCode()}.`);
        return /DevTools listening on (ws:\S+)/.exec(process.output())?.[1];
      },
      { seconds: 180, explain: () => process.output() },
    );
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    return new Browser(process, folder, socket);
  }

  async page(options: PageOptions): Promise<BrowserPage> {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    const session = String(sessionId);
    const page = new BrowserPage((method, params) => this.#send(method, params, session));
    this.#pages.set(session, page);
    await page.prepare(options);
    return page;
  }

  #send(method: string, params: Params = {}, sessionId?: string): Promise<Params> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<Params>();
    this.#waiting.set(id, ({ result = {}, error }) =>
      error === undefined ? answer.resolve(result) : answer.reject(new Error(`${method}: ${error.message}`)),
    );
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
    return answer.promise;
  }

  #receive(message: Message): void {
    if (message.id !== undefined) {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    } else if (message.method !== undefined)
      this.#pages.get(message.sessionId ?? "")?.note(message.method, message.params ?? {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#process.stop();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
