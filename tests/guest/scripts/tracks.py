import os
print(os.environ['WANDB_MODE'], os.environ['MLFLOW_TRACKING_URI'].startswith('file:'))
