// moto as a server, and the requests that a test sends to it.

import { readXml } from "../../../../../src/kit/xml.ts";

/** Starts moto on a free port. */
export async function startMoto(...program: readonly string[]) {
  const command = [...program, "-H", "127.0.0.1", "-p", "0"];
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  for await (const chunk of child.stderr) {
    text += new TextDecoder().decode(chunk);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
    if (url !== undefined)
      return {
        url,
        async [Symbol.asyncDispose]() {
          child.kill();
          await child.exited;
        },
      };
  }
  throw new Error(`moto did not start:\n${text}`);
}

const services = {
  ec2: { version: "2016-11-15", scope: "ec2" },
  elb: { version: "2012-06-01", scope: "elasticloadbalancing" },
  elbv2: { version: "2015-12-01", scope: "elasticloadbalancing" },
} as const;

/** Sends a request of the test, and returns the members of the response. */
export async function ask(
  url: string,
  action: string,
  parameters: Readonly<Record<string, string>>,
  service: keyof typeof services = "ec2",
) {
  const { version, scope } = services[service];
  const body = new URLSearchParams({ Action: action, Version: version, ...parameters });
  const authorization = `AWS4-HMAC-SHA256 Credential=test/20261127/us-west-2/${scope}/aws4_request`;
  const response = await fetch(url, { method: "POST", body, headers: { authorization } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${action}: ${response.status} ${text}`);
  // biome-ignore lint/suspicious/noExplicitAny: the test knows what it asked for.
  const answer = readXml(text, { entries: ["item", "member"] })[`${action}Response`] as any;
  return service === "ec2" ? answer : answer[`${action}Result`];
}
