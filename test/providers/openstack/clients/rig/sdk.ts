// openstacksdk and the openstack command, which read what Fairlead has created.

/** The expected load balancer, by its name. */
export interface ExpectedBalancer {
  readonly address: string;
  /** Protocol and port. */
  readonly listeners: readonly (readonly [protocol: string, port: number])[];
  /** Names of the Nodes. */
  readonly members: readonly string[];
}

/** Reads the load balancers of a manager with these settings. Returns the output, and whether every step passed. */
export async function readWithSDK(
  settings: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, ExpectedBalancer>>,
): Promise<{ readonly isRead: boolean; readonly output: string }> {
  const command = JSON.parse(process.env["FAIRLEAD_OPENSTACK_SDK"] ?? "[]") as readonly string[];
  const child = Bun.spawn([...command], {
    env: {
      ...process.env,
      FAIRLEAD_AUTH_URL: settings["auth-url"] ?? "",
      FAIRLEAD_CREDENTIAL: settings["application-credential-id"] ?? "",
      FAIRLEAD_SECRET: settings["application-credential-secret"] ?? "",
      FAIRLEAD_EXPECTED: JSON.stringify(expected),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const output = (await Promise.all(texts)).join("");
  return { isRead: (await child.exited) === 0, output };
}
