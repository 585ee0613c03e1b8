import ts from 'typescript-api'
import { expect, test } from 'vitest'
import { Declarations, docOf, type Exported } from '../src/reference/declarations.ts'

const declarations = new Declarations()

test.each(declarations.all.map((entry) => [entry.specifier, entry] as const))(
  'Every exported name of %s has a docstring, and every member of it',
  (_, entry) => {
    expect(declarations.exportsOf(entry).flatMap(undocumented)).toEqual([])
  },
)

/** The name, unless it has a docstring, and its members that have none. A docstring may be inherited. */
function undocumented({ name, symbol, declarations: found }: Exported): readonly string[] {
  const members = found.flatMap(membersOf).filter((member) => !isDocumented(member))
  return [...(isDocumented(symbol) ? [] : [name]), ...members.map((member) => `${name}.${member.name}`)]
}

function isDocumented(symbol: ts.Symbol): boolean {
  return docOf(symbol, declarations.checker) !== ''
}

/** The members of a class or interface. Another type describes its parts itself, and a tag of a union speaks for itself. */
function membersOf(node: ts.Node): readonly ts.Symbol[] {
  if (!ts.isClassDeclaration(node) && !ts.isInterfaceDeclaration(node)) return []
  const members: readonly Member[] = node.members
  return members.filter(isNamed).flatMap(({ name }) => declarations.checker.getSymbolAtLocation(name) ?? [])
}

type Member = ts.TypeElement | ts.ClassElement

function isNamed(member: Member): member is Member & { readonly name: ts.PropertyName } {
  if (member.name === undefined || ts.isPrivateIdentifier(member.name)) return false
  const isPrivate = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0
  return !isPrivate && !(ts.isPropertySignature(member) && isTag(member))
}

function isTag({ type }: ts.PropertySignature): boolean {
  return type !== undefined && ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)
}
