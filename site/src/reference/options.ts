import ts from 'typescript-api'
import { SETTING_NAMES } from '../../../packages/tenure/src/environment.ts'
import { type Declarations, docOf, type Exported, table, tagOf } from './declarations.ts'

/** The option that each flag and variable sets. The compiler sees to it that none is missing. */
const SETTING_OPTIONS: Readonly<Record<keyof typeof SETTING_NAMES, string>> = {
  lease: 'lease.name',
  namespace: 'lease.namespace',
  identity: 'identity',
  revision: 'revision',
  zone: 'zone',
  featureGates: 'featureGates',
  opsPort: 'ops.port',
  logLevel: 'logLevel',
}

/** Options that have a table, and the heading and the call that take them. */
const TABLES = [
  {
    name: 'CreateManagerOptions',
    heading: 'Of a manager',
    taken: '`createManager(options)` and `lead(options, work)`',
  },
  { name: 'RegisterOptions', heading: 'Of a registration', taken: '`manager.register(factory, options)`' },
  {
    name: 'StepDownOptions',
    heading: 'Of a step-down',
    taken: '`manager.stepDown(options)` and `term.stepDown(options)`',
  },
  { name: 'SpawnOptions', heading: 'Of a task', taken: '`term.spawn(name, fn, options)`' },
  { name: 'ChildOptions', heading: 'Of a child process', taken: '`term.child(name, start, options)`' },
  { name: 'WorkerOptions', heading: 'Of a worker', taken: '`term.worker(name, start, options)`' },
] as const

/** The page of all options with flags, variables and defaults. */
export function optionsPage(declarations: Declarations): string {
  const parts = TABLES.map(({ name, heading, taken }) => {
    const rows = optionsOf(declarations.find(name), declarations).map((option) => cells(option))
    return `## ${heading}\n\nTaken by ${taken}.\n\n${table(['option', 'default', 'flag, variable', 'meaning'], rows)}`
  })
  const intro =
    'An option in code takes precedence over a flag, a flag over the environment, the environment over the default.'
  return ['# Options', intro, ...parts, relations()].join('\n\n') + '\n'
}

function relations(): string {
  return '## Relations\n\nTenure checks relations between the times of a lease: see the [guide](../guide.md#options).'
}

interface Option {
  readonly path: string
  readonly symbol: ts.Symbol
  readonly doc: string
  /** Whether it takes an object with options of its own. */
  readonly isGroup: boolean
}

function cells({ path, symbol, doc, isGroup }: Option): readonly string[] {
  const setting = Object.entries(SETTING_OPTIONS).find(([, option]) => option === path)?.[0]
  const names = setting === undefined ? undefined : SETTING_NAMES[setting as keyof typeof SETTING_NAMES]
  const texts = names === undefined ? '' : `\`--${names.flag}\`, \`${names.variable}\``
  const isOptional = (symbol.flags & ts.SymbolFlags.Optional) !== 0
  return [`\`${path}\``, tagOf(symbol, 'default') ?? (isGroup ? '' : isOptional ? 'none' : 'required'), texts, doc]
}

/** The options of an interface; those of an options object within it follow, with their path. */
function optionsOf({ symbol }: Pick<Exported, 'symbol'>, declarations: Declarations, prefix = ''): readonly Option[] {
  const { checker } = declarations
  return propertiesOf(checker.getDeclaredTypeOfSymbol(symbol), checker).flatMap((property) => {
    const path = prefix + property.name
    const inner = innerOptions(property, checker)
    const option = { path, symbol: property, doc: docOf(property, checker), isGroup: inner !== undefined }
    if (inner === undefined) return [option]
    return [option, ...optionsOf({ symbol: inner }, declarations, `${path}.`)]
  })
}

/** The properties of a type, of each of its forms where it has several. */
function propertiesOf(type: ts.Type, checker: ts.TypeChecker): readonly ts.Symbol[] {
  const forms = type.isUnion() ? type.types : [type]
  const properties = forms.flatMap((form) => checker.getPropertiesOfType(form))
  return [...new Map(properties.map((property) => [property.name, property])).values()]
}

/** The interface of options that a property takes, also when all of it is optional or `false` is taken as well. */
function innerOptions(property: ts.Symbol, checker: ts.TypeChecker): ts.Symbol | undefined {
  const type = checker.getNonNullableType(checker.getTypeOfSymbol(property))
  const members = type.isUnion() ? type.types : [type]
  const named = members.flatMap((member) => [member.aliasTypeArguments?.[0] ?? member])
  return named.map((member) => member.getSymbol()).find((symbol) => symbol?.name.endsWith('Options'))
}
