import {
  dumpYaml,
  HttpMethod,
  KubeConfig,
  loadYaml,
  RequestContext,
  SelfDecodingBody,
  wrapHttpLibrary,
} from '@kubernetes/client-node'

/** What Tenure uses of client-node at run time. */
export interface ClientNode {
  readonly dumpYaml: typeof dumpYaml
  readonly HttpMethod: typeof HttpMethod
  readonly KubeConfig: typeof KubeConfig
  readonly loadYaml: typeof loadYaml
  readonly RequestContext: typeof RequestContext
  readonly SelfDecodingBody: typeof SelfDecodingBody
  readonly wrapHttpLibrary: typeof wrapHttpLibrary
}

const LOADED: ClientNode = {
  dumpYaml,
  HttpMethod,
  KubeConfig,
  loadYaml,
  RequestContext,
  SelfDecodingBody,
  wrapHttpLibrary,
}

/**
 * Returns client-node, which is loaded with this module.
 *
 * `#client-node` in `package.json` is this module in bundles and on runtimes other than Node. On Node it is `client-node-on-demand.ts`,
 * whose code no bundler could follow.
 */
export function clientNode(): ClientNode {
  return LOADED
}

/** As {@link clientNode}, for callers that can wait. */
export async function importClientNode(): Promise<ClientNode> {
  return LOADED
}
