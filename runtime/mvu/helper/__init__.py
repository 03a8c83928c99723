"""The command helper of a card: found, registered, run in the sandbox, and its answer verified (spec/mvu.md §6)."""

from runtime.mvu.helper.detect import Helper, detect_helper, find_helper
from runtime.mvu.helper.errors import ERRORS, HelperError
from runtime.mvu.helper.gate import extract_operation_block, latest_user_text
from runtime.mvu.helper.limits import LIMITS
from runtime.mvu.helper.plugins import ProcessorHost, load_processors
from runtime.mvu.helper.process import Outcome, Readable, process_reply, read_for_helper
from runtime.mvu.helper.registry import HelperRegistry, Registered, Registration, receipt_confirms
from runtime.mvu.helper.report import report_helper
from runtime.mvu.helper.restore import Restoration, find_restoration
from runtime.mvu.helper.verify import Dropped, verify_output
from runtime.mvu.helper.view import command_view

__all__ = [
    "ERRORS",
    "LIMITS",
    "Dropped",
    "Helper",
    "HelperError",
    "HelperRegistry",
    "Outcome",
    "ProcessorHost",
    "Readable",
    "Registered",
    "Registration",
    "Restoration",
    "command_view",
    "detect_helper",
    "extract_operation_block",
    "find_helper",
    "find_restoration",
    "latest_user_text",
    "load_processors",
    "process_reply",
    "read_for_helper",
    "receipt_confirms",
    "report_helper",
    "verify_output",
]
