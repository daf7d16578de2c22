"""One node of an ONNX model, run by ONNX Runtime on the CPU or by ONNX's reference implementation."""

import onnxruntime
from onnx import helper, reference

onnxruntime.set_default_logger_severity(4)  # what it refuses is reported by the exception
IR_VERSION = 10


def model(op, domain, opset, inputs, outputs, attributes):
    """`inputs` are pairs (name, array or None for one left out), in the operator's order; `outputs`
    are names, with an empty one for an output that is not asked for."""
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs
             if array is not None}
    node = helper.make_node(op, [name if array is not None else "" for name, array in inputs], outputs,
                            domain=domain, **attributes)
    of_input = [helper.make_tensor_value_info(name, kinds[name], array.shape)
                for name, array in inputs if array is not None]
    like_query = kinds[inputs[0][0]]
    of_output = [helper.make_tensor_value_info(name, like_query, None) for name in outputs if name]
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "one_node", of_input, of_output)
    return helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)


def feed(inputs):
    return {name: array for name, array in inputs if array is not None}


def run_onnxruntime(op, inputs, outputs, domain="", opset=23, **attributes):
    """The outputs that were asked for, by name."""
    proto = model(op, domain, opset, inputs, outputs, attributes)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [name for name in outputs if name]
    return dict(zip(names, session.run(names, feed(inputs))))


def run_reference(op, inputs, outputs, domain="", opset=23, **attributes):
    """The same by the reference implementation, which is written in numpy."""
    proto = model(op, domain, opset, inputs, outputs, attributes)
    names = [name for name in outputs if name]
    return dict(zip(names, reference.ReferenceEvaluator(proto).run(names, feed(inputs))))
