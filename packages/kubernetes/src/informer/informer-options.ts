import { type Clock, OptionsError, type Term } from '@tenure/core'
import { assertKnownKeys, type Random, systemClock, systemRandom, type Legacy } from '@tenure/core/internal'
import type { KubeConfigSource } from '../client/current-settings.ts'

/** The term or warm-up that owns an informer. The informer logs and registers a health check if the owner supports that. */
export type InformerOwner = Pick<Term, 'spawn' | 'signal' | 'controller'> & Partial<Pick<Term, 'logger' | 'health'>>

/** How far earlier terms have written, and this one. */
export interface LedBequests {
  readonly legacy: Pick<Legacy, 'versions'>
  /** Notes a version that shows every earlier write of the collection. */
  noteVersion(collection: string, version: string): void
}

/** An owner that knows its term: a core `Term`, or a warm-up. */
export interface LedOwner {
  /** The leadership of the term; undefined while a warm-up has none. */
  readonly leadership?: { readonly bequests: LedBequests } | undefined
}

/** An object as the API server sends it. */
export interface ApiObject {
  /** The metadata that the informer reads. */
  readonly metadata?: {
    readonly name?: string | undefined
    readonly namespace?: string | undefined
    readonly resourceVersion?: string | undefined
  }
}

/** A change of one object. An informer may see changes in quick succession as one change. */
export type ObjectChange<T> =
  | { readonly kind: 'added'; readonly object: T }
  | { readonly kind: 'updated'; readonly object: T; readonly previous: T }
  /** `object` is the last known state. */
  | { readonly kind: 'deleted'; readonly object: T }

/** Options of an {@link informer}. */
export interface InformerOptions<T extends ApiObject> {
  /** How to reach the API server. The informer uses its own connections. */
  readonly kubeConfig: KubeConfigSource
  /** The path of the collection, such as `/api/v1/namespaces/ops/configmaps` or `/apis/apps/v1/deployments`. */
  readonly path: string
  /** Which objects to watch, by their labels: `app=web,tier!=test`. @default all objects */
  readonly labelSelector?: string
  /** Which objects to watch, by their fields: `metadata.name=settings`. @default all objects */
  readonly fieldSelector?: string
  /** Called with every change. Its promise is a tracked task: if it rejects, the controller fails. @default disabled */
  readonly onChange?: (change: ObjectChange<T>) => unknown
  /** Called with the error of each failed list or watch. The informer retries with backoff. @default disabled */
  readonly onProblem?: (problem: Error) => void
  /** Times the reconnects of the watch. @default the clock of this machine */
  readonly clock?: Clock
  /** Spreads the reconnects of the watch. @default the random source of this process */
  readonly random?: Random
}

/** {@link InformerOptions} with every default filled in. */
export interface ResolvedInformerOptions<T extends ApiObject> extends Required<Omit<InformerOptions<T>, Selector>> {
  readonly selector: Readonly<Record<string, string>>
  /** The collection, in the terms of Kubernetes authorization. */
  readonly collection: { readonly group: string; readonly resource: string; readonly namespace: string }
  /** The name of the health check: `informer-configmaps-ops`, `informer-deployments.apps`. */
  readonly checkName: string
}

type Selector = 'labelSelector' | 'fieldSelector'

const PATH =
  /^\/(?:api|apis\/(?<group>[a-z0-9.-]+))\/[a-z0-9]+(?:\/namespaces\/(?<namespace>[a-z0-9-]+))?\/(?<resource>[a-z0-9]+)$/

const OPTION_NAMES = [
  'kubeConfig',
  'path',
  'labelSelector',
  'fieldSelector',
  'onChange',
  'onProblem',
  'clock',
  'random',
] as const satisfies (keyof InformerOptions<ApiObject>)[]

/** Fills in defaults. @throws OptionsError if the path is not that of a collection. */
export function resolveInformerOptions<T extends ApiObject>(options: InformerOptions<T>): ResolvedInformerOptions<T> {
  assertKnownKeys('`informer()`', options, OPTION_NAMES)
  const { kubeConfig, path } = options
  return {
    kubeConfig,
    path,
    ...parsePath(path),
    selector: selectorOf(options),
    onChange: options.onChange ?? (() => {}),
    onProblem: options.onProblem ?? (() => {}),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
}

function parsePath(path: string): Pick<ResolvedInformerOptions<ApiObject>, 'collection' | 'checkName'> {
  const parts = PATH.exec(path)?.groups
  if (parts === undefined) {
    throw OptionsError.expected(
      `\`path\` to be that of a collection such as \`/api/v1/namespaces/ops/configmaps\``,
      path,
    )
  }
  const { group = '', namespace = '' } = parts
  // The pattern always has it.
  const { resource = '' } = parts
  const qualified = group === '' ? resource : `${resource}.${group}`
  const checkName = `informer-${qualified}${namespace === '' ? '' : `-${namespace}`}`
  return { collection: { group, resource, namespace }, checkName }
}

function selectorOf({
  labelSelector,
  fieldSelector,
}: Pick<InformerOptions<ApiObject>, Selector>): Record<string, string> {
  return {
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  }
}
