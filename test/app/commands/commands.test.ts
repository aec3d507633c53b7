import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { fake } from "../../../providers/fake/index.ts";
import { runProgram } from "../../../src/app/run.ts";
import { createAuthority } from "../../../src/pki/authority.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

// What each command prints, and which flags it rejects.

const provider = fake as unknown as AnyProvider;
const program = "fake-cloud-controller-manager";
const clock = new VirtualClock();

const notAsked = () => Promise.reject(new Error("not asked"));

const answer = async (args: readonly string[], disk = new MemoryFiles(), of = provider) => {
  let out = "";
  const errors: string[] = [];
  const write = (text: string) => {
    out += text;
  };
  const console = { out: write, err: (text: string) => void errors.push(text) };
  const platform = {
    files: disk.files,
    clock,
    random: seededRandom(1),
    environment: {},
    transport: notAsked,
    cloudTransport: notAsked,
  };
  const code = await runProgram(of, args, console, platform, new AbortController().signal);
  return { out, errors, code };
};

interface Client {
  readonly service: { readonly port: number };
  readonly caBundle?: string;
}
const clientOf = (out = ""): Client => JSON.parse(out).webhooks[0].clientConfig;

test("starts the manager without a command, and with the command run", async () => {
  const flags = ["--kubeconfig=/nowhere", "--configure-cloud-routes=false"];
  const expected = {
    out: "",
    errors: [expect.stringContaining("Cannot read the kubeconfig /nowhere")],
    code: 2 as const,
  };
  expect(await answer(flags)).toEqual(expected);
  expect(await answer(["run", ...flags])).toEqual(expected);
  expect(await answer([...flags, "run"])).toEqual(expected);
});

test("prints the commands with --help, and the same text with the command help", async () => {
  const shown = await answer(["--help"]);
  const { out } = shown;
  const commands = out.slice(out.indexOf("Commands:"), out.indexOf(" flags:"));
  for (const word of ["run", "version", "--notices", "webhook-manifest", "schema", "help"]) {
    expect(commands).toContain(word);
  }
  expect(await answer(["help"])).toEqual(shown);
});

test("lists the most common flags first in --help, and debugging flags last", async () => {
  const { out } = await answer(["--help"]);
  const places = ["--cluster-name", "--kubeconfig", "--mode", "--secure-port", "--profiling"].map((name) =>
    out.indexOf(` ${name}`, out.indexOf(" flags:")),
  );
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places[0]).toBeGreaterThan(0);
});

test.each([
  [
    "policy",
    { nodes: true, routes: true, loadBalancers: true, tagging: false, volumes: false, isWriting: true },
  ],
  [
    "policy --controllers=service --mode=observe",
    { nodes: false, routes: false, loadBalancers: true, tagging: false, volumes: false, isWriting: false },
  ],
  [
    "policy --controllers=tagging",
    { nodes: false, routes: false, loadBalancers: false, tagging: true, volumes: false, isWriting: true },
  ],
  [
    "policy --configure-cloud-routes=false",
    { nodes: true, routes: false, loadBalancers: true, tagging: false, volumes: false, isWriting: true },
  ],
  [
    "policy --controllers=volume",
    { nodes: false, routes: false, loadBalancers: false, tagging: false, volumes: true, isWriting: true },
  ],
])("%s prints the cloud's policy for the controllers that run [F82]", async (words, needs) => {
  const cloud = { ...provider, policy: (given: object) => ({ given }) };
  const { out, code } = await answer(words.split(" "), undefined, cloud);
  expect([JSON.parse(out), code]).toEqual([{ given: needs }, 0]);
});

test("policy reports a cloud without policies", async () => {
  const { out, errors, code } = await answer(["policy"]);
  expect([out, code, errors.join("")]).toEqual([
    "",
    1,
    expect.stringContaining(`${program} has no policy to print: the cloud fake has none`),
  ]);
});

test("schema prints a JSON Schema even when the cloud settings are invalid, and rejects an unknown flag", async () => {
  const shown = await answer(["schema", "--config-set=endpiont=x"]);
  expect([shown.code, JSON.parse(shown.out).type]).toEqual([0, "object"]);
  expect((await answer(["schema", "--foo"])).code).toBe(2);
});

const wrong: readonly (readonly [readonly string[], string])[] = [
  [["version", "--foo"], "unknown flag --foo"],
  [["--version", "--foo"], "unknown flag --foo"],
  [["help", "--versoin"], "unknown flag --versoin; did you mean --version?"],
  [["help", "explain", "--foo"], "unknown flag --foo"],
  [["version", "--v=x"], "--v must be"],
  [["help", "explan"], 'unknown command "explan"; did you mean explain?'],
  [["help", "nonsense"], 'unknown command "nonsense"; commands: run, explain'],
  [["help", "run", "plan"], 'unexpected argument "plan" after help'],
  [["lint", "-f", "deploy.yaml"], "lint takes files without a flag: lint deploy/*.yaml"],
  [["version", "-f"], "unknown flag -f; see --help for all flags"],
  [["version", "please"], 'unexpected argument "please" after version'],
  [["webhook-manifest", "--webhook-secure-prt=1"], "did you mean --webhook-secure-port?"],
  [["webhook-manifest", "--webhook-secure-port=70000"], "--webhook-secure-port must be"],
  [["webhook-manifest", "--webhook-secure-port=0"], "--webhook-secure-port is 0"],
  [["webhook-manifest", "--webhooks=nonsense"], '--webhooks contains the unknown webhook "nonsense"'],
  [["webhook-manifest", "--webhooks=-service-annotations"], "--webhooks selects no webhook"],
  [
    ["webhook-manifest", "--webhook-tls-cert-file=/nowhere"],
    "Cannot determine the CA of the webhook certificate",
  ],
];
test.each(wrong)(
  "fails with an error and prints nothing to stdout for the arguments %j",
  async (args, text) => {
    const got = await answer(args);
    expect(got).toMatchObject({ out: "", code: 2 });
    expect(got.errors.join("\n")).toContain(text);
  },
);

test("reports an unknown command without reporting missing settings", async () => {
  const { errors, code } = await answer(["explan", "--config-set=endpoint=x"]);
  expect([code, errors]).toEqual([2, [expect.stringContaining('unknown command "explan"')]]);
});

test("prints the version even when the cloud settings are invalid", async () => {
  expect(await answer(["version", "--config-set=endpoint=x"])).toMatchObject({ code: 0, errors: [] });
});

test("webhook-manifest uses the port from the flags, and explains how to get a certificate authority if none is set", async () => {
  const got = await answer(["webhook-manifest", "--webhook-secure-port=20260"]);
  expect(got.code).toBe(0);
  expect(clientOf(got.out)).toMatchObject({ service: { port: 20260 } });
  expect(clientOf(got.out).caBundle).toBeUndefined();
  expect(got.errors).toEqual([expect.stringContaining("--webhook-cert-dir")]);
});

test("webhook-manifest creates the certificate authority in --webhook-cert-dir once and then reuses it", async () => {
  const disk = new MemoryFiles();
  const args = ["webhook-manifest", "--webhook-cert-dir=/certs"];
  const first = await answer(args, disk);
  const bundle = clientOf(first.out).caBundle ?? "";
  expect(first).toMatchObject({ code: 0, errors: [] });
  expect(clientOf((await answer(args, disk)).out).caBundle).toBe(bundle);
  const ca = new X509Certificate(Buffer.from(bundle, "base64"));
  const served = new X509Certificate(await disk.files.read("/certs/cloud-controller-manager-webhook.crt"));
  expect(served.verify(ca.publicKey)).toBe(true);
  expect(served.subjectAltName).toContain(`${program}.kube-system.svc`);
});

test("webhook-manifest contains the root of a configured chain, and fails for a chain without a certificate authority", async () => {
  const authority = createAuthority("given", clock, seededRandom(2));
  const { cert } = authority.issueServer("webhook", ["localhost"]);
  const disk = new MemoryFiles({ "/chain.crt": cert + authority.cert, "/leaf.crt": cert });
  const of = (path: string) => answer(["webhook-manifest", `--webhook-tls-cert-file=${path}`], disk);
  const chain = await of("/chain.crt");
  expect(clientOf(chain.out).caBundle).toBe(Buffer.from(authority.cert).toString("base64"));
  const leaf = await of("/leaf.crt");
  expect(leaf.errors[0]).toContain("/leaf.crt does not contain the CA");
});
