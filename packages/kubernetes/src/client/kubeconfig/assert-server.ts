import type { Cluster } from '@kubernetes/client-node'
import { KubeConfigError } from './kube-config-error.ts'

const PROXY_SCHEMES: readonly string[] = ['http:', 'https:', 'socks:', 'socks4:', 'socks4a:', 'socks5:', 'socks5h:']

/**
 * The URL of the server of a cluster.
 *
 * @throws KubeConfigError for an unusable address. It never quotes the address, which may hold a password.
 */
export function assertServer({ name, server, proxyUrl }: Cluster): URL {
  const url = URL.parse(server)
  if (url === null) throw new KubeConfigError(`The cluster \`${name}\` has a \`server\` that is not a URL`)
  if (!['https:', 'http:'].includes(url.protocol)) {
    throw new KubeConfigError(
      `The cluster \`${name}\` has a \`server\` that begins with neither \`https:\` nor \`http:\``,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new KubeConfigError(
      `The cluster \`${name}\` has credentials in its \`server\`, which Tenure never sends; move them to \`username\` and \`password\` of the user`,
    )
  }
  if (proxyUrl && !isProxy(URL.parse(proxyUrl))) {
    throw new KubeConfigError(
      `The cluster \`${name}\` has an unsupported proxy; its URL must begin with one of ${PROXY_SCHEMES.join(', ')}`,
    )
  }
  return url
}

function isProxy(url: URL | null): boolean {
  return url !== null && PROXY_SCHEMES.includes(url.protocol)
}
