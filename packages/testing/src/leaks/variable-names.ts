import { Session } from 'node:inspector'
import { unobserved } from './unobserved.ts'

interface RemoteObject {
  readonly objectId?: string
  readonly description?: string
}

interface Property {
  readonly name: string
  readonly value?: RemoteObject
}

/**
 * Finds the names of the variables by which functions reach values. Functions and values are given by their ids in a heap snapshot.
 * Snapshots have no names for block variables, and vitest puts each module in a block.
 *
 * Uses one inspector session: V8 forgets the ids when the session ends.
 */
export class VariableNames {
  #session: Session | undefined

  /** The name of the variable in one of the functions. Undefined if V8 does not know it. */
  nameOf(closureIds: readonly number[], valueId: number): string | undefined {
    return unobserved(() => {
      try {
        const session = (this.#session ??= open())
        for (const id of closureIds) {
          const name = nameIn(session, id, valueId)
          if (name !== undefined) return name
        }
        return undefined
      } catch {
        return undefined // No inspector in this Node.
      }
    })
  }

  /** Ends the session. */
  end(): void {
    unobserved(() => this.#session?.disconnect())
    this.#session = undefined
  }
}

function open(): Session {
  const session = new Session()
  session.connect()
  session.post('Debugger.enable')
  return session
}

function nameIn(session: Session, closureId: number, valueId: number): string | undefined {
  const scopes = propertiesOf(session, scopesOf(session, closureId)).filter(isLocal)
  const variables = scopes.flatMap(({ value }) => propertiesOf(session, value?.objectId))
  return variables.find(isValue(session, valueId))?.name
}

/** A session of this thread answers before `post()` returns. */
function ask(session: Session, method: string, params: object): unknown {
  let answer: unknown
  session.post(method, params, (error: Error | null, result?: object) => {
    if (error === null) answer = result
  })
  return answer
}

function scopesOf(session: Session, closureId: number): string | undefined {
  const found = ask(session, 'HeapProfiler.getObjectByHeapObjectId', { objectId: `${closureId}` })
  const objectId = (found as { readonly result?: RemoteObject } | undefined)?.result?.objectId
  const facts =
    objectId === undefined ? undefined : ask(session, 'Runtime.getProperties', { objectId, ownProperties: true })
  const internals = (facts as { readonly internalProperties?: readonly Property[] } | undefined)?.internalProperties
  return internals?.find(({ name }) => name === '[[Scopes]]')?.value?.objectId
}

function propertiesOf(session: Session, objectId: string | undefined): readonly Property[] {
  const facts =
    objectId === undefined ? undefined : ask(session, 'Runtime.getProperties', { objectId, ownProperties: true })
  return (facts as { readonly result?: readonly Property[] } | undefined)?.result ?? []
}

function isLocal({ value }: Property): boolean {
  return value?.objectId !== undefined && value.description !== 'Global'
}

function isValue(session: Session, valueId: number): (property: Property) => boolean {
  return ({ value }) => {
    if (value?.objectId === undefined) return false
    const id = ask(session, 'HeapProfiler.getHeapObjectId', { objectId: value.objectId })
    return (id as { readonly heapSnapshotObjectId?: string } | undefined)?.heapSnapshotObjectId === `${valueId}`
  }
}
