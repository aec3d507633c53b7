// The tag k8s:<cluster id>, by which load balancers and volumes name their cluster.

import { type Call, ifFound, type JsonRequest, requestTo } from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import type { Settings } from "./settings.ts";

export const clusterTag = "k8s:";
export const tagOf = ({ "cluster-id": id }: Settings): string | undefined => id && clusterTag + id;

/** The API ignores the case of tags, and shows the spelling with which a tag was created. */
export const hasTag = (tags: readonly string[] | null | undefined, wanted: string | undefined): boolean =>
  tags?.some((tag) => tag.toLowerCase() === wanted?.toLowerCase()) === true;

export function taggingRequest(
  tag: string,
  resource_type: "load_balancer" | "volume",
  resource_id: string,
): JsonRequest {
  return requestTo("POST /tags/{tag}/resources", { tag }, { resources: [{ resource_id, resource_type }] });
}

/** Creates the tag if it does not exist. */
export async function applyTag(api: DigitalOceanApi, request: JsonRequest, call: Call): Promise<void> {
  const send = () => api.call(request, call).then(() => true);
  if ((await ifFound(send())) === true) return;
  const name = decodeURIComponent(request.path.split("/")[2] ?? "");
  await api.call(requestTo("POST /tags", {}, { name }), call);
  await send();
}
