// Deletes the Nodes and Services that an earlier test left in the API server, and the finalizers of these Services.

import type { Service } from "../../../src/kube/objects.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { type OfficialClient, orUndefined } from "../../support/official-client.ts";

export const cleanSlate = async (api: OfficialClient): Promise<void> => {
  const removeService = async ({ metadata }: Service): Promise<void> => {
    const contentType = "application/merge-patch+json";
    const patch = { contentType, body: { metadata: { finalizers: null } } } as const;
    await orUndefined(api.patch(services, metadata, patch));
    await orUndefined(api.delete(services, metadata));
  };
  const leftNodes = await api.list(nodes);
  const leftServices = await api.list(services);
  await Promise.all([
    ...leftNodes.map(({ metadata }) => orUndefined(api.delete(nodes, metadata))),
    // The API server itself creates this Service.
    ...leftServices.filter(({ metadata }) => metadata.name !== "kubernetes").map(removeService),
  ]);
};
