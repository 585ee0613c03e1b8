import type { NameRule } from '../resources/resource-definition.ts'

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SUBDOMAIN = String.raw`${LABEL}(\.${LABEL})*`

function mustMatch(name: string, rule: { pattern: string; why: string; examples: readonly string[] }): string[] {
  if (new RegExp(`^(?:${rule.pattern})$`).test(name)) return []
  const [first, ...others] = rule.examples.map((example) => `'${example}'`)
  const examples = [first, ...others].join(',  or ')
  return [`${rule.why} (e.g. ${examples}, regex used for validation is '${rule.pattern}')`]
}

function atMost(name: string, length: number): string[] {
  return name.length > length ? [`must be no more than ${length} characters`] : []
}

/** The errors in a DNS subdomain (RFC 1123), with the messages of the API server. */
function dnsSubdomainErrors(name: string): string[] {
  const why =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
  return [...atMost(name, 253), ...mustMatch(name, { pattern: SUBDOMAIN, why, examples: ['example.com'] })]
}

/** The errors in a DNS label (RFC 1123). */
function dnsLabelErrors(name: string): string[] {
  const why =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
  if (name.includes('.') && dnsSubdomainErrors(name).length === 0) return [...atMost(name, 63), 'must not contain dots']
  return [...atMost(name, 63), ...mustMatch(name, { pattern: LABEL, why, examples: ['my-name', '123-abc'] })]
}

function pathSegmentErrors(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((character) => name.includes(character)).map((character) => `may not contain '${character}'`)
}

/** The errors in a key of a ConfigMap or Secret. */
export function configMapKeyErrors(key: string): string[] {
  const why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
  const rule = { pattern: '[-._a-zA-Z0-9]+', why, examples: ['key.name', 'KEY_NAME', 'key-name'] }
  const dots = key === '.' ? ["must not be '.'"] : key === '..' ? ["must not be '..'"] : []
  const prefix = key !== '..' && key.startsWith('..') ? ["must not start with '..'"] : []
  return [...atMost(key, 253), ...mustMatch(key, rule), ...dots, ...prefix]
}

const RULES: Readonly<Record<NameRule, (name: string) => string[]>> = {
  'dns-subdomain': dnsSubdomainErrors,
  'dns-label': dnsLabelErrors,
  'path-segment': pathSegmentErrors,
  'config-map-key': configMapKeyErrors,
}

/** The errors in a name under a rule; empty for a valid name. */
export function nameErrors(rule: NameRule, name: string): string[] {
  return RULES[rule](name)
}

/** The errors in a prefix for generated names, checked as if it had a suffix. */
export function generateNameErrors(rule: NameRule, prefix: string): string[] {
  return RULES[rule](prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix)
}

const LABEL_KEY_PART = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

/** The errors in the key of a label or the name of a finalizer. Annotation keys follow the same rule in lower case. */
export function labelKeyErrors(key: string): string[] {
  const [first = '', second, ...more] = key.split('/')
  if (more.length > 0) {
    const optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    return mustMatch(key, LABEL_KEY_RULE).map((why) => `a valid label key ${why} ${optional}`)
  }
  const name = second ?? first
  const prefix = second === undefined ? [] : prefixErrors(first)
  const length = name === '' ? ['must be non-empty'] : name.length > 63 ? ['must be no more than 63 bytes'] : []
  return [...prefix, ...[...length, ...mustMatch(name, LABEL_KEY_RULE)].map((why) => `name part ${why}`)]
}

const LABEL_KEY_RULE = {
  pattern: LABEL_KEY_PART,
  why: "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyName', 'my.name', '123-abc'],
}

function prefixErrors(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  return dnsSubdomainErrors(prefix).map((why) => `prefix part ${why}`)
}

/** The errors in the value of a label. */
export function labelValueErrors(value: string): string[] {
  const why =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
  const rule = { pattern: `(${LABEL_KEY_PART})?`, why, examples: ['MyValue', 'my_value', '12345'] }
  return [...(value.length > 63 ? ['must be no more than 63 bytes'] : []), ...mustMatch(value, rule)]
}
