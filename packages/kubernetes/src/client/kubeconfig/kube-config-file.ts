import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { User } from '@kubernetes/client-node'
import { clientNode } from '#client-node'
import { textOf } from '@tenure/core/internal'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import { KubeConfigError } from './kube-config-error.ts'
import type { KubeConfigParts } from './loaded-kube-config.ts'
import { type ReadKubeConfig, readPlainKubeConfig } from './plain-kube-config.ts'

/** Keys of a user that client-node ignores. Without them, requests would be sent as another user. */
const UNSUPPORTED_USER_KEYS = ['as-uid', 'as-groups', 'as-user-extra'] as const

/** The text of a file; undefined if the file does not exist. @throws KubeConfigError if it cannot be read */
export function readKubeConfigFile(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new KubeConfigError(`The kubeconfig ${path} cannot be read: ${textOf(cause)}`, { cause })
  }
}

/**
 * Parses a kubeconfig. Relative paths in it are relative to its folder.
 *
 * @throws KubeConfigError, which never quotes the file: it holds credentials
 */
export function parseKubeConfigFile(path: string, text: string): KubeConfigParts {
  const { document, users, ...rest } = readPlainKubeConfig(text, dirname(path)) ?? readWithClientNode(path, text)
  const entries = entriesOf(document, 'users')
  return {
    ...rest,
    users: users.map((user, index) => completeUser(user, objectAt(entries[index] ?? {}, 'user'), path)),
  }
}

function readWithClientNode(path: string, text: string): ReadKubeConfig {
  const document = parseYaml(path, text)
  const kubeConfig = new (clientNode().KubeConfig)()
  try {
    // client-node would read the file of `token-file` now, and never again.
    kubeConfig.loadFromString(JSON.stringify(withoutTokenFiles(document)))
    kubeConfig.makePathsAbsolute(dirname(path))
  } catch (error) {
    throw new KubeConfigError(`The kubeconfig ${path} cannot be read: ${textOf(error)}`)
  }
  const { clusters, contexts, users, currentContext } = kubeConfig
  return { document, clusters, users, contexts, currentContext }
}

/** The error of the parser may quote the text around the fault, so only its position is passed on. */
function parseYaml(path: string, text: string): JsonObject {
  let document: unknown
  try {
    document = clientNode().loadYaml(text)
  } catch (error) {
    throw new KubeConfigError(`The kubeconfig ${path} cannot be read: it is not valid YAML${placeOf(error)}`)
  }
  if (isJsonObject(document)) return document
  throw new KubeConfigError(`The kubeconfig ${path} cannot be read: it is empty or not a mapping`)
}

function placeOf(error: unknown): string {
  const mark: unknown = error instanceof Error ? Reflect.get(error, 'mark') : undefined
  const [line, column] = isJsonObject(mark) ? [Number(mark['line']), Number(mark['column'])] : []
  return line === undefined || column === undefined ? '' : ` at line ${line + 1}, column ${column + 1}`
}

function entriesOf(document: JsonObject, key: string): readonly JsonObject[] {
  const entries = document[key]
  return Array.isArray(entries) ? entries.map((entry: unknown) => (isJsonObject(entry) ? entry : {})) : []
}

function withoutTokenFiles(document: JsonObject): JsonObject {
  if (!Array.isArray(document['users'])) return document
  const users = document['users'].map((entry: unknown) => {
    if (!isJsonObject(entry) || !isJsonObject(entry['user'])) return entry
    const { 'token-file': _, ...user } = entry['user']
    return { ...entry, user }
  })
  return { ...document, users }
}

/** Adds what client-node ignores: the token file, which takes precedence over a token, and the folder of a plugin. */
function completeUser(user: User, entry: JsonObject, path: string): User {
  const unsupported = UNSUPPORTED_USER_KEYS.find((key) => entry[key] !== undefined)
  if (unsupported !== undefined) {
    throw new KubeConfigError(
      `The kubeconfig ${path} has the key \`${unsupported}\` in user \`${user.name}\`, which is not supported`,
    )
  }
  const tokenFile = stringAt(entry, 'tokenFile') ?? stringAt(entry, 'token-file')
  const folder = dirname(path)
  const command: unknown = isJsonObject(user.exec) ? user.exec['command'] : undefined
  const hasFolder = typeof command === 'string' && command.includes('/')
  const { token, authProvider, ...rest } = user
  return {
    ...rest,
    ...(hasFolder && { exec: { ...(user.exec as JsonObject), command: resolve(folder, command) } }),
    ...(tokenFile
      ? { authProvider: { name: 'tokenFile', config: { tokenFile: resolve(folder, tokenFile) } } }
      : { ...(token !== undefined && { token }), authProvider }),
  }
}
