/**
 * Keeps the state of a server in a file with one JSON document per line. The first line is about the server, the others about
 * objects.
 *
 * Appends every commit before the write is answered, so an answered write survives a crash of the process, but not a power failure.
 * Opening the file replaces it with a snapshot, through a temporary file. Only one server may use a file.
 */
import { TenureError } from '@tenure/core'
import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import type { KeyPair } from '../certificate-authority.ts'
import { isJsonObject, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import type { ObjectRef, Store, StoreEvent } from './store.ts'

const FORMAT = 'tenure-api-server/1'

/** The file is not the state of an embedded API server. */
export class StateFileError extends TenureError {
  override readonly code = 'STATE_FILE_UNREADABLE'
}

interface Header {
  readonly format: string
  readonly version: number
  readonly authority: KeyPair
}

interface Entry {
  readonly ref: ObjectRef
  readonly version: number
  /** Absent if the object was removed. */
  readonly object?: KubeObject
}

/** The content of a state file. */
export interface SavedState {
  readonly authority: KeyPair
  readonly version: number
  readonly objects: ReadonlyMap<string, readonly [ObjectRef, KubeObject]>
}

/** Reads the state of an earlier server; `undefined` if there is no file. @throws StateFileError for any other file */
export function readStateFile(path: string): SavedState | undefined {
  const text = tryRead(path)
  if (text === undefined) return undefined
  const [first = '', ...lines] = text.split('\n')
  const header = parseLine(first, path) as Partial<Header>
  const { format, authority, version: startVersion } = header
  if (format !== FORMAT || authority === undefined || startVersion === undefined) {
    throw new StateFileError(`Expected ${path} to be the state file of an embedded API server`)
  }
  const objects = new Map<string, readonly [ObjectRef, KubeObject]>()
  let version = startVersion
  // Text after the last newline is an incomplete write that was never answered.
  for (const line of lines.slice(0, -1)) {
    const entry = parseLine(line, path) as unknown as Entry
    version = Math.max(version, entry.version)
    if (entry.object === undefined) objects.delete(JSON.stringify(entry.ref))
    else objects.set(JSON.stringify(entry.ref), [entry.ref, entry.object])
  }
  return { authority, version, objects }
}

/** Writes a snapshot and appends every later commit until the returned function is called. */
export function openStateFile(path: string, store: Store, authority: KeyPair): () => void {
  const header: Header = { format: FORMAT, version: store.version, authority }
  const entries = store.collections().flatMap((collection) =>
    store.list(collection).map((object): Entry => {
      const { namespace = '', name = '' } = object.metadata
      return { ref: { collection, namespace, name }, version: Number(object.metadata.resourceVersion), object }
    }),
  )
  const lines = [header, ...entries].map((each) => `${JSON.stringify(each)}\n`)
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, lines.join(''), { mode: 0o600 })
  renameSync(temporary, path)
  const file = openSync(path, 'a', 0o600)
  const stop = store.onCommit((event) => writeSync(file, `${JSON.stringify(entryOf(event))}\n`))
  return () => {
    stop()
    closeSync(file)
  }
}

function entryOf({ ref, version, type, object }: StoreEvent): Entry {
  return type === 'DELETED' ? { ref, version } : { ref, version, object }
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function parseLine(line: string, path: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw new StateFileError(`Expected every line of the state file ${path} to be JSON`, { cause })
  }
  if (!isJsonObject(value))
    throw new StateFileError(`Expected every line of the state file ${path} to be a JSON object`)
  return value
}
