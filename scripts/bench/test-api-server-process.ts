// A program: the sandbox over HTTPS on loopback, its kubeconfig in the file that is named, until it is told to stop.

import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { systemFiles } from "../../src/platform/system-files.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("Expected the path of the kubeconfig to write.");
const authority = createAuthority("bench-ca", systemClock, systemRandom);
const server = new ApiServer({ clock: systemClock, random: systemRandom });
const https = await HttpsServer.start({ server, authority, token: crypto.randomUUID() });
await saveKubeconfig(https, systemFiles, path);
process.stdout.write(`serves ${https.url}\n`);
process.on("SIGTERM", () => process.exit(0));
