import type { Cluster, Context, User } from '@kubernetes/client-node'
import { load } from 'js-yaml'
import { resolve } from 'node:path'
import { isJsonObject, stringAt, type JsonObject } from '../../json-object.ts'
import type { KubeConfigParts } from './loaded-kube-config.ts'

type Fields = Readonly<Record<string, 'string' | 'boolean' | 'anything'>>

const DOCUMENT: Fields = {
  apiVersion: 'string',
  kind: 'string',
  preferences: 'anything',
  extensions: 'anything',
  clusters: 'anything',
  users: 'anything',
  contexts: 'anything',
  'current-context': 'string',
}

const CLUSTER: Fields = {
  server: 'string',
  'certificate-authority': 'string',
  'certificate-authority-data': 'string',
  'insecure-skip-tls-verify': 'boolean',
  'tls-server-name': 'string',
  extensions: 'anything',
}

const USER: Fields = {
  token: 'string',
  'token-file': 'string',
  tokenFile: 'string',
  username: 'string',
  password: 'string',
  'client-certificate': 'string',
  'client-certificate-data': 'string',
  'client-key': 'string',
  'client-key-data': 'string',
  extensions: 'anything',
}

const CONTEXT: Fields = { cluster: 'string', user: 'string', namespace: 'string', extensions: 'anything' }

/** The parts of a kubeconfig, and the YAML document that they were read from. */
export interface ReadKubeConfig extends KubeConfigParts {
  readonly document: JsonObject
}

/**
 * Reads a kubeconfig with plain credentials as client-node does, without loading client-node. Undefined for a text with a fault, a
 * plugin, a proxy, a key that this does not know or a value of another type: client-node then decides what it means, or fails.
 *
 * @param folder where relative paths begin
 */
export function readPlainKubeConfig(text: string, folder: string): ReadKubeConfig | undefined {
  const document = tryLoad(text)
  if (document === undefined) return undefined
  const clusters = entriesOf(document['clusters'], 'cluster', { fields: CLUSTER, required: 'server' })
  const users = entriesOf(document['users'], 'user', { fields: USER })
  const contexts = entriesOf(document['contexts'], 'context', { fields: CONTEXT, required: 'cluster' })
  if (clusters === undefined || users === undefined || contexts === undefined) return undefined
  return {
    document,
    clusters: clusters.map((entry) => clusterOf(entry, folder)),
    users: users.map((entry) => userOf(entry, folder)),
    contexts: contexts.map(contextOf),
    // Undefined in a file that sets none, as in client-node, whose type does not say so.
    currentContext: stringAt(document, 'current-context') as string,
  }
}

function tryLoad(text: string): JsonObject | undefined {
  try {
    const document: unknown = load(text)
    return isJsonObject(document) && hasOnly(DOCUMENT, document) ? document : undefined
  } catch {
    return undefined
  }
}

interface Entry {
  readonly name: string
  readonly of: JsonObject
}

interface Shape {
  readonly fields: Fields
  /** A field that must not be empty. */
  readonly required?: string
}

/** The entries of a list; undefined if one of them does not have this shape. */
function entriesOf(list: unknown, key: string, shape: Shape): readonly Entry[] | undefined {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) return undefined
  const entries = list.flatMap((entry: unknown) => entryOf(entry, key, shape) ?? [])
  return entries.length === list.length ? entries : undefined
}

function entryOf(entry: unknown, key: string, { fields, required }: Shape): Entry | undefined {
  if (!isJsonObject(entry) || !hasOnly({ name: 'string', [key]: 'anything' }, entry)) return undefined
  const name = stringAt(entry, 'name')
  const of = entry[key]
  if (!name || !isJsonObject(of) || !hasOnly(fields, of)) return undefined
  return required === undefined || stringAt(of, required) ? { name, of } : undefined
}

function hasOnly(fields: Fields, object: JsonObject): boolean {
  return Object.entries(object).every(([key, value]) => {
    const type = fields[key]
    return type === 'anything' || typeof value === type
  })
}

function clusterOf({ name, of }: Entry, folder: string): Cluster {
  return asInClientNode<Cluster>({
    name,
    server: stringAt(of, 'server')?.replace(/\/$/, ''),
    caFile: pathAt(of, 'certificate-authority', folder),
    caData: stringAt(of, 'certificate-authority-data'),
    skipTLSVerify: of['insecure-skip-tls-verify'] === true,
    tlsServerName: stringAt(of, 'tls-server-name'),
  })
}

function userOf({ name, of }: Entry, folder: string): User {
  return asInClientNode<User>({
    name,
    token: stringAt(of, 'token') || undefined,
    username: stringAt(of, 'username'),
    password: stringAt(of, 'password'),
    certFile: pathAt(of, 'client-certificate', folder),
    certData: stringAt(of, 'client-certificate-data'),
    keyFile: pathAt(of, 'client-key', folder),
    keyData: stringAt(of, 'client-key-data'),
  })
}

function contextOf({ name, of }: Entry): Context {
  return asInClientNode<Context>({
    name,
    cluster: stringAt(of, 'cluster'),
    user: stringAt(of, 'user') || undefined,
    namespace: stringAt(of, 'namespace') || undefined,
  })
}

/** Relative paths begin in the folder of the file. */
function pathAt(of: JsonObject, key: string, folder: string): string | undefined {
  const path = stringAt(of, key)
  return path && resolve(folder, path)
}

/** What a file does not set is undefined, as in client-node, whose types do not say so. */
function asInClientNode<T extends object>(entry: { readonly [K in keyof T]: T[K] | undefined }): T {
  return entry as T
}
