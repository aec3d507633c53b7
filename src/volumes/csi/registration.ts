// Registration with the kubelet (its plugin registration API), in place of the sidecar node-driver-registrar.

import type { RpcServer } from "../grpc/rpc-server.ts";

const schema = {
  messages: {
    InfoRequest: {},
    PluginInfo: {
      type: "1 string",
      name: "2 string",
      endpoint: "3 string",
      supportedVersions: "4 repeated string",
    },
    RegistrationStatus: { pluginRegistered: "1 bool", error: "2 string" },
    RegistrationStatusResponse: {},
  },
  enums: {},
} as const;

const methods = {
  GetInfo: ["InfoRequest", "PluginInfo"],
  NotifyRegistrationStatus: ["RegistrationStatus", "RegistrationStatusResponse"],
} as const;

export interface RegistrationOptions {
  /** The name of the CSI driver. */
  readonly name: string;
  /** The path of the driver's socket, as the kubelet sees it. */
  readonly endpoint: string;
  /** `error`: why the kubelet rejects the plugin. Undefined if it is registered. */
  readonly onStatus: (error: string | undefined) => void;
}

export function addRegistration(server: RpcServer, { name, endpoint, onStatus }: RegistrationOptions): void {
  server.add("pluginregistration.Registration", schema, methods, {
    GetInfo: () => ({ type: "CSIPlugin", name, endpoint, supportedVersions: ["1.0.0"] }),
    NotifyRegistrationStatus: ({ pluginRegistered, error }) => {
      onStatus(pluginRegistered ? undefined : error);
      return {};
    },
  });
}
