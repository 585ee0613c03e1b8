import { ApiStatusError, badRequest, invalid, type FieldCause } from './api-status.ts'
import { forbiddenValue, unsupportedValue } from './field-causes.ts'
import { isTrue } from '../http/request-info.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import { parseFieldSelector, parseLabelSelector, type Selector } from './selectors.ts'

/** What a list or watch asks for. */
export interface ListOptions {
  readonly matches: Selector
  /** Whether there is a selector, so that `matches` may return `false`. */
  readonly isSelective: boolean
  /** The requested version. `undefined` means the latest, zero means any. */
  readonly resourceVersion: number | undefined
  readonly exact: boolean
  readonly limit: number
  readonly continueToken: string
  readonly allowBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
  readonly timeoutSeconds: number | undefined
}

/** Reads the query of a list or watch. @throws ApiStatusError 400 or 422 */
export function readListOptions(
  query: URLSearchParams,
  definition: ResourceDefinition,
  watching: boolean,
): ListOptions {
  const causes = watching ? validateWatch(query) : validateList(query)
  if (causes.length > 0) throw invalid(LIST_OPTIONS_SUBJECT, causes)
  const labelSelector = query.get('labelSelector') ?? ''
  const fieldSelector = query.get('fieldSelector') ?? ''
  const byLabels = parseLabelSelector(labelSelector)
  const byFields = parseFieldSelector(fieldSelector, definition).matches
  const sendInitialEvents = query.get('sendInitialEvents')
  return {
    matches: (object) => byLabels(object) && byFields(object),
    isSelective: labelSelector !== '' || fieldSelector !== '',
    resourceVersion: readVersion(query.get('resourceVersion') ?? '', watching),
    exact: query.get('resourceVersionMatch') === 'Exact',
    limit: readInteger(query, 'limit') ?? 0,
    continueToken: query.get('continue') ?? '',
    allowBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitialEvents === null ? undefined : isTrue(sendInitialEvents),
    timeoutSeconds: readInteger(query, 'timeoutSeconds'),
  }
}

const LIST_OPTIONS_SUBJECT = { group: 'meta.k8s.io', resource: '', kind: 'ListOptions', name: '' }

function readVersion(text: string, watching: boolean): number | undefined {
  if (text === '') return undefined
  if (/^\d+$/.test(text)) return Number(text)
  const quoted = JSON.stringify(text)
  const why = `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`
  throw watching ? new ApiStatusError(500, '', why) : badRequest(`invalid resource version: ${why}`)
}

function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^-?\d+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  }
  return Number(text)
}

const MATCH = 'resourceVersionMatch'

function validateList(query: URLSearchParams): FieldCause[] {
  const causes = validateListMatch(query)
  if (query.has('sendInitialEvents')) {
    causes.push(forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return causes
}

function validateListMatch(query: URLSearchParams): FieldCause[] {
  const match = query.get(MATCH) ?? ''
  if (match === '') return []
  const version = query.get('resourceVersion') ?? ''
  const causes: FieldCause[] = []
  if (version === '') causes.push(forbiddenValue(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`))
  if (query.get('continue')) causes.push(forbiddenValue(MATCH, `${MATCH} is forbidden when continue is provided`))
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    causes.push(unsupportedValue(MATCH, match, ['Exact', 'NotOlderThan', '']))
  }
  if (match === 'Exact' && version === '0') {
    causes.push(forbiddenValue(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`))
  }
  return causes
}

function validateWatch(query: URLSearchParams): FieldCause[] {
  const match = query.get(MATCH) ?? ''
  const causes: FieldCause[] = []
  if (query.has('sendInitialEvents')) {
    if (match !== 'NotOlderThan') {
      causes.push(forbiddenValue(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`))
    }
  } else if (match !== '') {
    causes.push(forbiddenValue(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`))
  }
  if (match !== '' && match !== 'NotOlderThan') causes.push(unsupportedValue(MATCH, match, ['NotOlderThan']))
  if (match !== '' && query.get('continue')) {
    causes.push(forbiddenValue(MATCH, `${MATCH} is forbidden when continue is provided`))
  }
  return causes
}
