"""The sentences of issues, in English and Chinese (design §6, spec/zod.md §9.32).

The English ones say what Zod 4.4.3 says, so that recorded messages can be compared; the Chinese ones are our own. A
sentence is chosen by the issue's code and fields alone: an author's own message never comes from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from interpreter.javascript import UNDEFINED, to_text, type_of

Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One language: sentences by key; names of types, origins, units and formats (a missing one stands as it is)."""

    sentences: Mapping[str, str]
    types: Mapping[str, str]
    origins: Mapping[str, str]
    units: Mapping[str, str]
    formats: Mapping[str, str]
    between: str
    between_keys: str


_ENGLISH = Catalogue(
    sentences={
        "invalid_type": "Invalid input: expected {expected}, received {received}",
        "missing": "Invalid input: expected {expected}, received {received}",
        "value": "Invalid input: expected {values}",
        "values": "Invalid option: expected one of {values}",
        "too_big.size": "Too big: expected {origin} to have {sign}{limit} {unit}",
        "too_big": "Too big: expected {origin} to be {sign}{limit}",
        "too_small.size": "Too small: expected {origin} to have {sign}{limit} {unit}",
        "too_small": "Too small: expected {origin} to be {sign}{limit}",
        "at_most": "<=",
        "below": "<",
        "at_least": ">=",
        "above": ">",
        "starts_with": 'Invalid string: must start with "{text}"',
        "ends_with": 'Invalid string: must end with "{text}"',
        "includes": 'Invalid string: must include "{text}"',
        "regex": "Invalid string: must match pattern {text}",
        "format": "Invalid {format}",
        "not_multiple_of": "Invalid number: must be a multiple of {divisor}",
        "unrecognized_key": "Unrecognized key: {keys}",
        "unrecognized_keys": "Unrecognized keys: {keys}",
        "invalid_key": "Invalid key in {origin}",
        "invalid_element": "Invalid value in {origin}",
        "discriminator": "Invalid discriminator value. Expected {options}",
        "invalid_union": "Invalid input",
        "other": "Invalid input",
    },
    types={"nan": "NaN"},
    origins={},
    units={"string": "characters", "file": "bytes", "array": "items", "set": "items", "map": "entries"},
    formats={
        "regex": "input",
        "template_literal": "input",
        "email": "email address",
        "url": "URL",
        "uuid": "UUID",
        "uuidv4": "UUIDv4",
        "uuidv6": "UUIDv6",
        "guid": "GUID",
        "ulid": "ULID",
        "xid": "XID",
        "ksuid": "KSUID",
        "datetime": "ISO datetime",
        "date": "ISO date",
        "time": "ISO time",
        "duration": "ISO duration",
        "ipv4": "IPv4 address",
        "ipv6": "IPv6 address",
        "mac": "MAC address",
        "cidrv4": "IPv4 range",
        "cidrv6": "IPv6 range",
        "base64": "base64-encoded string",
        "base64url": "base64url-encoded string",
        "json_string": "JSON string",
        "e164": "E.164 number",
        "jwt": "JWT",
    },
    between="|",
    between_keys=", ",
)

_CHINESE = Catalogue(
    sentences={
        "invalid_type": "类型不符：这里要{expected}，给的是{received}",
        "missing": "缺少内容：这里要{expected}",
        "value": "取值不符：只能是 {values}",
        "values": "取值不符：只能从 {values} 中选",
        "too_big.size": "{origin}过长：{sign} {limit} {unit}",
        "too_big": "{origin}过大：{sign} {limit}",
        "too_small.size": "{origin}过短：{sign} {limit} {unit}",
        "too_small": "{origin}过小：{sign} {limit}",
        "at_most": "最多",
        "below": "要少于",
        "at_least": "最少",
        "above": "要多于",
        "starts_with": "文字要以“{text}”开头",
        "ends_with": "文字要以“{text}”结尾",
        "includes": "文字里要有“{text}”",
        "regex": "文字要符合规则 {text}",
        "format": "写法不是合格的{format}",
        "not_multiple_of": "数字要是 {divisor} 的整数倍",
        "unrecognized_key": "多出了没有声明的键：{keys}",
        "unrecognized_keys": "多出了没有声明的键：{keys}",
        "invalid_key": "{origin}中有不合格的键",
        "invalid_element": "{origin}中有不合格的内容",
        "discriminator": "无法判断种类：只能是 {options}",
        "invalid_union": "不符合任何一种允许的形式",
        "other": "内容不合格",
    },
    types={
        "string": "文字",
        "number": "数字",
        "int": "整数",
        "boolean": "布尔值",
        "stringbool": "表示是或否的文字",
        "bigint": "大整数",
        "object": "对象",
        "record": "键值表",
        "array": "列表",
        "tuple": "定长列表",
        "map": "映射",
        "set": "集合",
        "null": "空值",
        "undefined": "没有内容",
        "nan": "NaN（不是数字）",
        "nonoptional": "必填内容",
        "never": "不出现任何内容",
        "date": "日期",
        "function": "函数",
        "symbol": "符号",
        "file": "文件",
        "void": "没有内容",
    },
    origins={
        "string": "文字",
        "number": "数字",
        "int": "整数",
        "array": "列表",
        "set": "集合",
        "map": "映射",
        "file": "文件",
        "record": "键值表",
        "date": "日期",
        "bigint": "大整数",
    },
    units={"string": "个字符", "file": "字节", "array": "项", "set": "项", "map": "对"},
    formats={
        "regex": "内容",
        "template_literal": "内容",
        "email": "电子邮箱地址",
        "url": "网址",
        "emoji": "表情符号",
        "uuid": "UUID",
        "guid": "GUID",
        "ulid": "ULID",
        "xid": "XID",
        "ksuid": "KSUID",
        "nanoid": "NanoID",
        "cuid": "CUID",
        "cuid2": "CUID2",
        "datetime": "日期时间（ISO 8601）",
        "date": "日期（ISO 8601）",
        "time": "时间（ISO 8601）",
        "duration": "时长（ISO 8601）",
        "ipv4": "IPv4 地址",
        "ipv6": "IPv6 地址",
        "mac": "MAC 地址",
        "cidrv4": "IPv4 网段",
        "cidrv6": "IPv6 网段",
        "base64": "Base64 编码",
        "base64url": "Base64URL 编码",
        "json_string": "JSON 文本",
        "e164": "国际电话号码（E.164）",
        "jwt": "JWT",
        "hostname": "主机名",
        "hex": "十六进制文字",
        "lowercase": "全小写文字",
        "uppercase": "全大写文字",
    },
    between="、",
    between_keys="、",
)

CATALOGUES: Mapping[Language, Catalogue] = {"en": _ENGLISH, "zh": _CHINESE}

_TEXT_FIELDS = {"starts_with": "prefix", "ends_with": "suffix", "includes": "includes", "regex": "pattern"}


def received_type(value: object) -> str:
    """The name that Zod gives to the type of what it received: ``null``, ``array`` and ``nan`` have names of their own,
    and an object of a class has the name of its class (attribute ``js_class`` of our value: ``Set``, ``Date``…)."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return "array"
    if isinstance(value, float) and value != value:
        return "nan"
    return str(getattr(value, "js_class", None) or type_of(value))


def issue_message(issue: Mapping[str, Any], value: object = UNDEFINED, language: Language = "en") -> str:
    """The sentence of an issue without a message of the author's.

    ``issue`` holds the fields that Zod gives it (``code``, ``expected``, ``minimum``, ``values``, ``keys``…);
    ``value`` is what was found at its path.
    """
    catalogue = CATALOGUES[language]
    writer = _WRITERS.get(issue["code"])
    return catalogue.sentences["other"] if writer is None else writer(catalogue, issue, value)


def _invalid_type(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    received = received_type(value)
    expected = str(issue.get("expected"))
    sentence = catalogue.sentences["missing" if received == "undefined" else "invalid_type"]
    return sentence.format(
        expected=catalogue.types.get(expected, expected), received=catalogue.types.get(received, received)
    )


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else to_text(value, str)


def _invalid_value(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    values = issue.get("values") or ()
    sentence = catalogue.sentences["value" if len(values) == 1 else "values"]
    return sentence.format(values=catalogue.between.join(map(_shown, values)))


def _too_big(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    return _bound(catalogue, issue, "too_big", "maximum", "at_most" if issue.get("inclusive") else "below")


def _too_small(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    return _bound(catalogue, issue, "too_small", "minimum", "at_least" if issue.get("inclusive") else "above")


def _bound(catalogue: Catalogue, issue: Mapping[str, Any], key: str, limit: str, sign: str) -> str:
    origin = str(issue.get("origin", "value"))
    unit = catalogue.units.get(origin)
    sentence = catalogue.sentences[key if unit is None else f"{key}.size"]
    return sentence.format(
        origin=catalogue.origins.get(origin, origin),
        sign=catalogue.sentences[sign],
        limit=to_text(issue.get(limit), str),
        unit=unit,
    )


def _invalid_format(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    name = str(issue.get("format"))
    field = _TEXT_FIELDS.get(name)
    if field is not None:
        return catalogue.sentences[name].format(text=issue.get(field))
    return catalogue.sentences["format"].format(format=catalogue.formats.get(name, name))


def _not_multiple_of(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    return catalogue.sentences["not_multiple_of"].format(divisor=to_text(issue.get("divisor"), str))


def _unrecognized_keys(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    keys = issue.get("keys") or ()
    sentence = catalogue.sentences["unrecognized_keys" if len(keys) > 1 else "unrecognized_key"]
    return sentence.format(keys=catalogue.between_keys.join(map(_shown, keys)))


def _invalid_part(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    origin = str(issue.get("origin"))
    return catalogue.sentences[issue["code"]].format(origin=catalogue.origins.get(origin, origin))


def _invalid_union(catalogue: Catalogue, issue: Mapping[str, Any], value: object) -> str:
    options = issue.get("options")
    if not options:
        return catalogue.sentences["invalid_union"]
    shown = " | ".join(f"'{to_text(option, str)}'" for option in options)
    return catalogue.sentences["discriminator"].format(options=shown)


_WRITERS = {
    "invalid_type": _invalid_type,
    "invalid_value": _invalid_value,
    "too_big": _too_big,
    "too_small": _too_small,
    "invalid_format": _invalid_format,
    "not_multiple_of": _not_multiple_of,
    "unrecognized_keys": _unrecognized_keys,
    "invalid_key": _invalid_part,
    "invalid_element": _invalid_part,
    "invalid_union": _invalid_union,
}
