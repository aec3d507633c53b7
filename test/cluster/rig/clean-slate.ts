// Deletes the Nodes and Services that an earlier test left in the API server, and the finalizers of those Services.

import type { KubeApi } from "../../../src/kube/client/api.ts";
import { isKubeError } from "../../../src/kube/errors/kube-error.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { never } from "../../kube/cluster/connect.ts";

export const orUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isKubeError(error, "not-found")) return undefined;
    throw error;
  }
};

export const cleanSlate = async (api: KubeApi): Promise<void> => {
  const removeService = async ({ metadata }: Service): Promise<void> => {
    const contentType = "application/merge-patch+json";
    const patch = { contentType, body: { metadata: { finalizers: null } } } as const;
    await orUndefined(api.patch(services, metadata, patch, never));
    await orUndefined(api.delete(services, metadata, {}, never));
  };
  const leftNodes = await api.listPage(nodes, {}, never);
  const leftServices = await api.listPage(services, {}, never);
  await Promise.all([
    ...leftNodes.items.map(({ metadata }) => orUndefined(api.delete(nodes, metadata, {}, never))),
    // The API server creates this one itself.
    ...leftServices.items.filter(({ metadata }) => metadata.name !== "kubernetes").map(removeService),
  ]);
};
