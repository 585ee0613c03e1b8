/** The messages of the built-in kinds. The server reads protobuf bodies and builds OpenAPI documents with them. */
import { kindShapes } from './kind-shapes.ts'

/** A struct of the Kubernetes API. */
export interface MessageType {
  /** For example `core.v1.Container`. */
  readonly name: string
  /** Owned and merged as a whole. */
  readonly atomic: boolean
  readonly fields: readonly MessageField[]
}

/** A field of a {@link MessageType}. */
export interface MessageField {
  /** The name in JSON; empty for an embedded struct, whose fields JSON puts into the outer object. */
  readonly name: string
  /** The field number in protobuf. */
  readonly number: number
  readonly required: boolean
  /** A scalar (`string`, `int32`, `time`, `any` …), or the name of a message. */
  readonly type: string
  readonly enumeration: readonly string[]
  readonly shape: 'single' | 'list' | 'map'
  /** For a list: `-` if atomic, `=` for a set, otherwise the names of its keys. For a map: `=` if atomic. */
  readonly merging: string
  /** Whether zero differs from absence (a pointer in Go). */
  readonly keepsZero: boolean
  /** The strategy of a strategic merge patch, with the key after a colon. */
  readonly patch: string
}

const FIELD =
  /^(?<name>\^|\w+)(?<required>!?) (?<number>\d+) (?<type>[\w.]+)(?:\((?<values>[^)]*)\))?(?<pointer>\*?)(?:\[(?<list>[^\]]*)\]|\{(?<map>=?)\})?(?: (?<patch>\S+))?$/

let all: ReadonlyMap<string, MessageType> | undefined

/** All messages, by name. Parsed at the first call. */
export function messageTypes(): ReadonlyMap<string, MessageType> {
  all ??= new Map(kindShapes.trim().split('\n').map(readMessage))
  return all
}

function readMessage(line: string): [string, MessageType] {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon)
  const parts = line
    .slice(colon + 1)
    .split(';')
    .map((part) => part.trim())
  const fields = parts.filter((part) => part !== '' && part !== 'atomic').map(readField)
  return [name, { name, atomic: parts[0] === 'atomic', fields }]
}

function readField(text: string): MessageField {
  const groups = FIELD.exec(text)?.groups
  if (groups === undefined) throw new Error(`Expected a field of a message, got \`${text}\``)
  const { name = '', number, type = '', values, list, map, patch = '' } = groups
  return {
    name: name === '^' ? '' : name,
    number: Number(number),
    required: groups['required'] === '!',
    type,
    enumeration: values === undefined ? [] : values.split('|'),
    ...shapeOf(list, map),
    keepsZero: groups['pointer'] === '*',
    patch,
  }
}

function shapeOf(list: string | undefined, map: string | undefined): Pick<MessageField, 'shape' | 'merging'> {
  if (list !== undefined) return { shape: 'list', merging: list }
  if (map !== undefined) return { shape: 'map', merging: map }
  return { shape: 'single', merging: '' }
}

/** The name of the message of a built-in kind: `coordination.v1.Lease`. */
export function messageNameOf(group: string, version: string, kind: string): string {
  return `${group === '' ? 'core' : (group.split('.')[0] ?? '')}.${version}.${kind}`
}
