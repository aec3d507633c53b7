// The provider of vSphere: the virtual machines of one or several vCenters as instances.

import { type Call, type Context, defineProvider, type InstanceSource, type TlsMaterial } from "#ccm";
import { Connection } from "./api/connection.ts";
import { TagsApi } from "./api/tags-api.ts";
import { VCenterApi } from "./api/vcenter-api.ts";
import { checkSettings } from "./check-settings.ts";
import { readConfigFile } from "./config-file.ts";
import { Credentials, credentialFiles } from "./credentials.ts";
import { machineSource } from "./instances.ts";
import { Locations } from "./locations.ts";
import { vcenterRole } from "./policy.ts";
import { categoriesOf, config, rulesOf, type Settings } from "./settings.ts";
import { reasons } from "./to-instance.ts";
import { type VCenter, vcentersOf } from "./vcenters.ts";

function tlsOf(
  { caFile, skipsVerification, thumbprint }: VCenter,
  { inputs }: Context,
): TlsMaterial | undefined {
  if (thumbprint !== undefined && !skipsVerification) return { fingerprint: thumbprint };
  const ca = caFile === undefined ? undefined : inputs.file(caFile)?.reveal().trim();
  if (ca === undefined && !skipsVerification) return undefined;
  return { ...(ca !== undefined && { ca }), skipVerification: skipsVerification };
}

function connectTo(
  vcenter: VCenter,
  settings: Settings,
  context: Context,
): { readonly source: InstanceSource; readonly connection: Connection } {
  const { name, base, datacenters } = vcenter;
  const credentials = new Credentials(vcenter, context, settings["secrets-directory"]);
  const connection = new Connection(
    {
      name,
      base,
      tls: tlsOf(vcenter, context),
      credentialPlace: credentials.place,
      logIn: (call, logIn) => credentials.use(call, logIn),
    },
    context.account,
  );
  const categories = categoriesOf(settings);
  const hasDatacenters = datacenters.length > 0;
  const api = new VCenterApi(connection);
  const tags = new TagsApi(connection.endpoint);
  const locations = new Locations({ api, tags, categories, hasDatacenters });
  const rules = rulesOf(settings, vcenter.families);
  const labels = Object.fromEntries(settings["node-labels"] ?? []);
  const description = { rules, categories, labels };
  const keepsNodes = settings["skip-node-deletion"] !== undefined;
  return {
    source: machineSource({ name, connection, api, locations, description, datacenters, keepsNodes }),
    connection,
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
      ...(vcenter.caFile === undefined
        ? []
        : [{ kind: "File", path: vcenter.caFile, certificatesOf: "ca-file" } as const]),
      ...(vcenter.secret === undefined ? [] : [{ kind: "Secret", ...vcenter.secret } as const]),
      ...credentialFiles(vcenter, settings["secrets-directory"]).map(
        (path) => ({ kind: "File", path, optional: true }) as const,
      ),
    ]),
  connect: (settings, context) => {
    const [first, ...others] = vcentersOf(settings).map((vcenter) => connectTo(vcenter, settings, context));
    if (first === undefined) throw new Error("checkConfig requires a vCenter.");
    const connections = [first, ...others].map(({ connection }) => connection);
    return {
      instances: {
        sources: [first.source, ...others.map(({ source }) => source)],
        matchBy: ["uuid", "name"],
      },
      close: async (call: Call) => void (await Promise.all(connections.map((one) => one.close(call)))),
    };
  },
});
