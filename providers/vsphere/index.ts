// The provider of vSphere: the virtual machines of one or several vCenters as instances.

import {
  type Call,
  type CloudTransport,
  type Context,
  defineProvider,
  type InstanceSource,
  type TlsMaterial,
  xml,
} from "#ccm";
import { closeSession, type LoginMethod, logIn } from "./api/session.ts";
import { cloneSession } from "./api/shared-sessions.ts";
import { openTagSession, TagsApi } from "./api/tags-api.ts";
import { VCenterApi } from "./api/vcenter-api.ts";
import { checkSettings } from "./check-settings.ts";
import { readConfigFile } from "./config-file.ts";
import { Credentials, credentialFiles, type Login } from "./credentials.ts";
import { Datacenters } from "./datacenters.ts";
import { machineSource } from "./instances.ts";
import { Locations } from "./locations.ts";
import { vcenterRole } from "./policy.ts";
import { categoriesOf, config, rulesOf, type Settings } from "./settings.ts";
import { reasons } from "./to-instance.ts";
import { type VCenter, vcentersOf } from "./vcenters.ts";

interface Connection {
  readonly source: InstanceSource;
  close(call: Call): Promise<void>;
}

function tlsOf(
  { caFile, skipsVerification, thumbprint }: VCenter,
  { inputs }: Context,
): TlsMaterial | undefined {
  if (thumbprint !== undefined && !skipsVerification) return { fingerprint: thumbprint };
  const ca = caFile === undefined ? undefined : inputs.file(caFile)?.reveal().trim();
  if (ca === undefined && !skipsVerification) return undefined;
  return { ...(ca !== undefined && { ca }), skipVerification: skipsVerification };
}

function connectTo(vcenter: VCenter, settings: Settings, context: Context): Connection {
  const { name, base } = vcenter;
  const credentials = new Credentials(vcenter, context, settings["secrets-directory"]);
  const tls = tlsOf(vcenter, context);
  const methodOf = async (login: Login, unsigned: CloudTransport, call: Call): Promise<LoginMethod> => {
    if ("url" in login) return cloneSession(login, unsigned, call);
    const content = xml`<userName>${login.user}</userName><password>${login.password.reveal()}</password>`;
    return { method: "Login", content };
  };
  const api = new VCenterApi(
    {
      name,
      base,
      tls,
      logIn: (unsigned, call, open) =>
        credentials.use(call, async (login) => open(await methodOf(login, unsigned, call))),
    },
    context.account,
  );
  const tags = new TagsApi(
    {
      name,
      base,
      tls,
      open: (plain, unsigned, call) =>
        credentials.use(call, async (login) => {
          if (!("url" in login)) return openTagSession(base, plain, login, call);
          // vCenter accepts the session of one API in the other API.
          const session = await logIn(base, plain, await methodOf(login, unsigned, call), call);
          const sessionToken = session.sessionToken.replaceAll('"', "");
          return { sessionToken, end: (last) => closeSession(base, plain, session, last) };
        }),
    },
    context.account,
  );
  const categories = categoriesOf(settings);
  const hasDatacenters = vcenter.datacenters.length > 0;
  const locations = new Locations(api, tags, { categories, hasDatacenters });
  const rules = rulesOf(settings, vcenter.families);
  const datacenters = new Datacenters(name, vcenter.datacenters);
  const labels = Object.fromEntries(settings["node-labels"] ?? []);
  const description = { rules, categories, labels };
  const keepsNodes = settings["skip-node-deletion"] !== undefined;
  const source = machineSource({ api, locations, description, datacenters, keepsNodes });
  return {
    source,
    close: async (call: Call) => void (await Promise.all([api.close(call), tags.close(call)])),
  };
}

export const vsphere = defineProvider({
  contract: 3,
  name: "vsphere",
  schemes: ["vsphere://"],
  config,
  reasons,
  readConfigFile,
  checkConfig: checkSettings,
  policy: vcenterRole,
  inputs: (settings) =>
    vcentersOf(settings).flatMap((vcenter) => [
      ...(vcenter.caFile === undefined ? [] : [{ kind: "File", path: vcenter.caFile } as const]),
      ...(vcenter.secret === undefined ? [] : [{ kind: "Secret", ...vcenter.secret } as const]),
      ...credentialFiles(vcenter, settings["secrets-directory"]).map(
        (path) => ({ kind: "File", path, optional: true }) as const,
      ),
    ]),
  connect: (settings, context) => {
    const [first, ...others] = vcentersOf(settings).map((vcenter) => connectTo(vcenter, settings, context));
    if (first === undefined) throw new Error("checkConfig requires a vCenter.");
    const connections = [first, ...others] as const;
    return {
      instances: {
        sources: [first.source, ...others.map(({ source }) => source)],
        matchBy: ["uuid", "name"],
      },
      close: async (call: Call) => void (await Promise.all(connections.map((one) => one.close(call)))),
    };
  },
});
