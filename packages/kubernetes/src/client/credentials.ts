import { readFile } from 'node:fs/promises'
import { devNull } from 'node:os'
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node'
import { importClientNode } from '#client-node'
import { type Clock } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { KubeConfigError } from './kubeconfig/kube-config-error.ts'
import { FoundKubeConfig } from './kubeconfig/found-kube-config.ts'
import { RELOAD, type Reloadable } from './kubeconfig/loaded-kube-config.ts'
import { runExecPlugin, type ExecCredential } from './exec-credential.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'

/** The minimum time between two runs of a plugin, so that a server that refuses everything does not start endless processes. */
const MIN_USE_MS = 1000

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0]
type AuthenticatedOptions = Parameters<Authenticator['applyAuthentication']>[1]

/** The part of a kubeconfig that holds the credentials. */
type CredentialSource = Pick<KubeConfig, 'users' | 'getCurrentUser'>

/** The output of a credential plugin for one user, while it is in use. */
export interface IssuedCredential {
  readonly plugin: string
  readonly since: number
  readonly credential: Promise<ExecCredential>
}

/** A user with its current credentials. */
export interface CurrentUser {
  readonly user: User
  /** The output of the plugin of the user; undefined if it has none. */
  readonly issued: IssuedCredential | undefined
}

/** All users of one kubeconfig share the output of its plugins, so that a plugin runs once for all of them. */
const issuedFor = new WeakMap<readonly User[], IssuedCredential>()

/**
 * The current user of a kubeconfig with its current credentials: reads a token file, and runs a plugin unless its last output is still
 * valid.
 *
 * client-node would read a token file once a minute, run a plugin that names no expiry only once, and send requests without
 * credentials if it does not support their kind.
 *
 * @throws KubeConfigError if the credentials that the kubeconfig names cannot be read. It never quotes a credential.
 */
export async function currentUser(kubeConfig: CredentialSource, cluster: Cluster, clock: Clock): Promise<CurrentUser> {
  const user = kubeConfig.getCurrentUser() ?? { name: '' }
  const provider = isJsonObject(user.authProvider) ? user.authProvider : undefined
  const config = provider === undefined ? {} : objectAt(provider, 'config')
  const exec = [user.exec, config['exec']].find(isJsonObject)
  if (exec !== undefined) return execUser(kubeConfig, { user, exec, cluster }, clock)
  const tokenFile = stringAt(config, 'tokenFile')
  if (tokenFile) return { user: withToken(user, await readToken(user, tokenFile)), issued: undefined }
  if (provider === undefined || customAuthenticator(kubeConfig, user) !== undefined) return { user, issued: undefined }
  return { user: withToken(user, await providerToken(user, stringAt(provider, 'name') ?? '')), issued: undefined }
}

/** Reads the changed files of a kubeconfig again, if it follows any. */
export function reload(kubeConfig: KubeConfig | FoundKubeConfig): void {
  if (kubeConfig instanceof FoundKubeConfig) kubeConfig.reload()
  else (kubeConfig as Partial<Reloadable>)[RELOAD]?.()
}

/** Makes the next request run the plugin again. Returns false if there is no plugin, or if it ran less than a second ago. */
export function withdraw(kubeConfig: CredentialSource, issued: IssuedCredential | undefined, clock: Clock): boolean {
  if (issued === undefined) return false
  if (issuedFor.get(kubeConfig.users) !== issued) return true
  if (clock.now() - issued.since < MIN_USE_MS) return false
  issuedFor.delete(kubeConfig.users)
  return true
}

interface ExecUser {
  readonly user: User
  readonly exec: JsonObject
  readonly cluster: Cluster
}

async function execUser(kubeConfig: CredentialSource, plugin: ExecUser, clock: Clock): Promise<CurrentUser> {
  const issued = await issuedTo(kubeConfig, plugin, clock)
  const { token, cert, key } = await issued.credential
  const { user } = plugin
  const { exec: _, certFile, keyFile, ...rest } = user
  const pair = cert !== undefined && key !== undefined ? { certData: base64(cert), keyData: base64(key) } : undefined
  const files = { ...(certFile !== undefined && { certFile }), ...(keyFile !== undefined && { keyFile }) }
  return { user: withToken({ ...rest, ...(pair ?? files) }, token), issued }
}

/** The last output of the plugin if it is still valid; otherwise runs the plugin. Concurrent callers wait for the same run. */
async function issuedTo(
  kubeConfig: CredentialSource,
  { user, exec, cluster }: ExecUser,
  clock: Clock,
): Promise<IssuedCredential> {
  const plugin = JSON.stringify([user.name, exec, cluster.server])
  for (;;) {
    const known = issuedFor.get(kubeConfig.users)
    if (known?.plugin === plugin && !isExpired(await known.credential, clock)) return known
    if (issuedFor.get(kubeConfig.users) !== known) continue
    const credential = runExecPlugin({ user: user.name, exec, cluster })
    const issued = { plugin, since: clock.now(), credential }
    issuedFor.set(kubeConfig.users, issued)
    credential.catch(() => issuedFor.get(kubeConfig.users) === issued && issuedFor.delete(kubeConfig.users))
    return issued
  }
}

function isExpired({ expiresAt = Infinity }: ExecCredential, clock: Clock): boolean {
  return expiresAt <= clock.wallTime()
}

/** Refuses an empty file: the request would be sent without credentials. */
async function readToken(user: User, path: string): Promise<string> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    const why = textOf(cause)
    throw new KubeConfigError(`The token file of user \`${user.name}\` cannot be read: ${why}`, { cause })
  }
  const token = text.trim()
  if (token === '') throw new KubeConfigError(`The token file ${path} of user \`${user.name}\` is empty`)
  return token
}

/** Drops the errors of client-node's authenticators: they may quote the output of a command or the answer of a server. */
async function providerToken(user: User, name: string): Promise<string> {
  const what = `The \`auth-provider\` \`${name}\` of user \`${user.name}\``
  const { KubeConfig } = await importClientNode()
  const authenticator = authenticatorsOf(new KubeConfig(), 'authenticators').find((one) => one.isAuthProvider(user))
  if (authenticator === undefined) throw new KubeConfigError(`${what} is not supported; use an \`exec\` plugin`)
  const options: AuthenticatedOptions = { headers: {} }
  const config = objectAt(objectAt(user as object as JsonObject, 'authProvider'), 'config')
  const quiet = quietConfig(config)
  try {
    await authenticator.applyAuthentication({ ...user, authProvider: { name, config: quiet } }, options)
    const { 'cmd-args': _, ...renewed } = quiet
    Object.assign(config, renewed)
  } catch (error) {
    const code: unknown = error instanceof Error ? (Reflect.get(error, 'code') ?? error.name) : typeof error
    throw new KubeConfigError(`${what} failed (${textOf(code)}); log in again, or use an \`exec\` plugin`)
  }
  const header = isJsonObject(options.headers) ? stringAt(options.headers, 'Authorization') : undefined
  const token = header?.replace(/^Bearer /, '').trim()
  if (!token || token === 'undefined') {
    throw new KubeConfigError(
      `${what} gave no token: it is missing, or it has expired and cannot be renewed; log in again`,
    )
  }
  return token
}

/** client-node runs `cmd-path` in a shell that writes to the standard error output of this process. */
function quietConfig(config: JsonObject): JsonObject {
  if (!config['cmd-path']) return { ...config }
  return { ...config, 'cmd-args': `${stringAt(config, 'cmd-args') ?? ''} 2>${devNull}` }
}

function customAuthenticator(kubeConfig: object, user: User): Authenticator | undefined {
  return authenticatorsOf(kubeConfig, 'custom_authenticators').find((one) => one.isAuthProvider(user))
}

/** The lists are private to client-node. A missing list counts as empty. */
function authenticatorsOf(kubeConfig: object, list: 'authenticators' | 'custom_authenticators'): Authenticator[] {
  const authenticators: unknown = Reflect.get(kubeConfig, list)
  return Array.isArray(authenticators) ? authenticators : []
}

function withToken(user: User, token: string | undefined): User {
  const { authProvider: _, token: own, ...rest } = user
  const current = token ?? own
  return { ...rest, ...(current !== undefined && { token: current }) }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
