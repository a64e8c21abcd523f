"""Which calls only show values, only write them out, or compute with them."""

from __future__ import annotations

PLOT, SAVE, PASS, COMPUTE = "plot", "save", "pass", "compute"

_PLOT_PACKAGES = (
    "matplotlib.",
    "seaborn.",
    "plotly.",
    "bokeh.",
    "PIL.ImageDraw.",
    "PIL.Image.fromarray",
    "mayavi.",
    "pyvista.",
    "altair.",
)
_PLOTS = frozenset(
    {
        "tf.io.encode_png", "tf.io.encode_jpeg", "tf.image.encode_png", "tf.image.encode_jpeg", "tf.summary.image",
        "keras.utils.save_img", "keras.utils.array_to_img", "keras.preprocessing.image.save_img",
        "keras.preprocessing.image.array_to_img", "cv2.imwrite", "cv2.imshow", "imageio.imwrite", "imageio.imsave",
        "imageio.mimsave", "imageio.mimwrite", "imageio.v2.imwrite", "imageio.v2.mimsave", "imageio.v3.imwrite",
        "skimage.io.imsave", "skimage.io.imshow", "scipy.misc.imsave", "IPython.display.display",
    }
)  # fmt: skip
_PLOT_METHODS = frozenset(
    {
        "imshow", "imsave", "imwrite", "matshow", "plot", "scatter", "contour", "contourf", "pcolor", "pcolormesh", "hist",
        "hist2d", "bar", "barh", "boxplot", "violinplot", "errorbar", "fill_between", "quiver", "streamplot",
        "plot_surface", "plot_wireframe", "semilogx", "semilogy", "loglog", "axhline", "axvline", "set_data", "savefig",
        "add_image", "fromarray", "heatmap",
    }
)  # fmt: skip
_SAVES = frozenset(
    {
        "np.save", "np.savez", "np.savez_compressed", "np.savetxt", "json.dump", "pickle.dump", "joblib.dump",
        "scipy.io.savemat", "scipy.io.wavfile.write", "soundfile.write", "tf.io.write_file", "tf.io.write_graph",
        "torch.save", "h5py.File.create_dataset",
    }
)  # fmt: skip
_SAVE_PACKAGES = ("csv.writer()", "csv.DictWriter")
_SHOWN_AS_TEXT = frozenset({"builtins.print", "tf.print"})
_SAVE_METHODS = frozenset(
    {
        "tofile", "to_csv", "to_parquet", "to_hdf", "to_pickle", "to_json", "to_excel", "to_feather", "to_netcdf", "to_zarr",
        "to_sql", "create_dataset", "writelines", "writerow", "writerows", "savetxt", "writestr", "write_bytes", "write_text",
    }
)  # fmt: skip
_TRAINING_RECORDS = ("tf.io.TFRecordWriter", "tf.python_io.TFRecordWriter", "tf.TensorArray")
_PASSES = (
    "np.",
    "tf.",
    "keras.ops.",
    "builtins.",
    "math.",
    "PIL.",
    "scipy.",
    "cv2.",
    "pandas.",
    "io.",
    "skimage.",
    "collections.",
    "einops.",
)
_TRAINS = frozenset(
    {
        "fit", "fit_generator", "train_on_batch", "train_step", "test_step", "evaluate", "compile", "apply_gradients",
        "minimize", "gradient", "GradientTape", "backward", "assign", "assign_add", "assign_sub",
    }
)  # fmt: skip
_READS = frozenset(
    {
        "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "File", "open", "read_csv", "read_hdf", "read_pickle",
        "read_parquet", "read_json", "read_feather", "read_table", "read_file", "read_excel", "TFRecordDataset", "CsvDataset",
        "FixedLengthRecordDataset", "TextLineDataset", "make_csv_dataset", "loadmat", "imread", "open_memmap", "open_dataset",
        "read", "load_weights", "read_bytes",
    }
)  # fmt: skip


def use(short: str, last: str, arguments: int) -> str:
    """What a call does with its arguments: ``short`` is its qualified short name, empty when unknown; ``last`` its last part."""
    if short in _SHOWN_AS_TEXT or short.startswith(_TRAINING_RECORDS):
        return COMPUTE
    if short in _PLOTS or short.startswith(_PLOT_PACKAGES):
        return PLOT
    if short in _SAVES or short.startswith(_SAVE_PACKAGES):
        return SAVE
    if last in _TRAINS:
        return COMPUTE
    passes = short.startswith(_PASSES) and not short.startswith(("tf.keras.", "builtins.super"))
    if last in _PLOT_METHODS and not passes:
        return PLOT
    if last in _SAVE_METHODS or (last == "write" and arguments == 1):
        return SAVE
    return PASS if passes else COMPUTE


def trains(last: str) -> bool:
    """Whether a function of this name trains or judges a model."""
    return last in _TRAINS


def reads(last: str) -> bool:
    """Whether a function of this name reads a file that its first argument names."""
    return last in _READS
