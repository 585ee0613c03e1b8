import type { Cluster, User } from '@kubernetes/client-node'
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'

/**
 * The options of `https.request()` that client-node makes of a token, a password or a certificate. Undefined for everything that only
 * client-node can handle.
 *
 * @throws Error if a file cannot be read
 */
export function plainOptions(cluster: Cluster, user: User): RequestOptions | undefined {
  if (!isPlain(cluster, user)) return undefined
  const { tlsServerName, skipTLSVerify } = cluster
  const [ca, cert, key] = [
    material(cluster.caFile, cluster.caData),
    material(user.certFile, user.certData),
    material(user.keyFile, user.keyData),
  ]
  return {
    headers: user.token ? { Authorization: `Bearer ${user.token}` } : {},
    ...(user.username && { auth: `${user.username}:${user.password}` }),
    ...(skipTLSVerify && { rejectUnauthorized: false }),
    ...(tlsServerName && { servername: tlsServerName }),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  }
}

function isPlain({ server, proxyUrl, skipTLSVerify }: Cluster, { exec, authProvider, impersonateUser }: User): boolean {
  const isPlainUser = [exec, authProvider, impersonateUser].every((value) => value === undefined || value === null)
  return isPlainUser && !proxyUrl && (server.startsWith('https:') || skipTLSVerify)
}

/** A file takes precedence over data, which is Base64. */
function material(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (file) return readFileSync(file)
  return data ? Buffer.from(data, 'base64') : undefined
}
