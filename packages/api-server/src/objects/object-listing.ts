import { ApiStatusError, badRequest } from './api-status.ts'
import { asString, isJsonObject, type JsonObject } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import type { ListOptions } from './list-options.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import type { Store } from '../storage/store.ts'

/** A page of objects in their stored form. */
export interface ObjectPage {
  readonly items: readonly KubeObject[]
  /** The `metadata` of the list. */
  readonly metadata: JsonObject
}

interface Continuation {
  readonly version: number
  readonly afterKey: string
}

/**
 * Lists a collection: the latest state, an exact past version, or the next page of an earlier list.
 *
 * @throws ApiStatusError 410 if the version is too old, 504 if it is in the future.
 */
export function listObjects(
  store: Store,
  scope: { readonly definition: ResourceDefinition; readonly namespace: string | undefined },
  options: ListOptions,
): ObjectPage {
  const continuation = options.continueToken === '' ? undefined : decodeContinuation(options.continueToken)
  const version = chooseVersion(store, options, continuation)
  const all = objectsAt(store, scope, version)
  if (all === undefined) throw expired(continuation)
  const selected = all.filter(
    (object) => options.matches(object) && (continuation === undefined || keyOf(object) > continuation.afterKey),
  )
  const isLimited = options.limit > 0 && selected.length > options.limit
  const items = isLimited ? selected.slice(0, options.limit) : selected
  const last = items.at(-1)
  const metadata: JsonObject = {
    ...(scope.definition.isCustom ? { continue: '' } : {}),
    resourceVersion: String(version),
  }
  if (isLimited && last !== undefined) {
    metadata['continue'] = encodeContinuation({ version, afterKey: keyOf(last) })
    // With selectors the real server does not count the remaining items, because that is expensive.
    if (!options.isSelective) metadata['remainingItemCount'] = selected.length - items.length
  }
  return { items, metadata }
}

/** @throws ApiStatusError 504 for a future version. */
function assertReached(store: Store, version: number): void {
  if (version <= store.version) return
  throw new ApiStatusError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${version}, current: ${store.version}`,
    {
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
      retryAfterSeconds: 1,
    },
  )
}

function chooseVersion(store: Store, options: ListOptions, continuation: Continuation | undefined): number {
  // A token without a version asks for the remaining items in their latest state.
  if (continuation !== undefined) return continuation.version > 0 ? continuation.version : store.version
  const asked = options.resourceVersion ?? 0
  assertReached(store, asked)
  return options.exact ? asked : store.version
}

function objectsAt(
  store: Store,
  scope: { readonly definition: ResourceDefinition; readonly namespace: string | undefined },
  version: number,
): KubeObject[] | undefined {
  const { collection } = scope.definition
  if (version === store.version) return store.list(collection, scope.namespace)
  return store.listAt(collection, version, scope.namespace)
}

function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`
}

function encodeContinuation({ version, afterKey }: Continuation): string {
  const token = { v: 'meta.k8s.io/v1', rv: version, start: `${afterKey}\u0000` }
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

function decodeContinuation(text: string): Continuation {
  try {
    const token: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const start = isJsonObject(token) ? asString(token['start']) : undefined
    if (isJsonObject(token) && start !== undefined && typeof token['rv'] === 'number') {
      return { version: token['rv'], afterKey: start.replace(/\0$/, '') }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw badRequest('invalid continue token: continue key is not valid')
}

const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.'

function expired(continuation: Continuation | undefined): ApiStatusError {
  if (continuation === undefined) {
    return new ApiStatusError(410, 'Expired', 'The resourceVersion for the provided list is too old.')
  }
  const rest = encodeContinuation({ version: -1, afterKey: continuation.afterKey })
  return new ApiStatusError(410, 'Expired', CONTINUE_EXPIRED, { listMetadata: { continue: rest } })
}
