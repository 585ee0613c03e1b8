/**
 * Whether the element at an index belongs to the part that an option of a command has as text, such as `2/3`.
 *
 * @throws Error that names the option, if the text is no such part
 */
export function partOf(name: string, text: string): (_: unknown, index: number) => boolean {
  const [, part = 0, parts = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number)
  if (part < 1 || part > parts) throw new Error(`Expected \`${name}\` to be like 1/3, 2/3 or 3/3, got \`${text}\``)
  return (_, index) => index % parts === part - 1
}
